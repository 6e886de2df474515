"""The rules as messages, before a kernel sees them."""

from typing import Any

from launcher import ruleset


def names(messages: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in messages]


def test_everything_is_applied_at_once_and_rejecting_comes_last() -> None:
    found = names(ruleset.ruleset(18080))
    assert found[0] == "begin nft batch"
    assert found[-1] == "end nft batch"
    assert found[-2] == "add nft rule (reject) to refuse"


def test_the_filter_stands_after_the_redirect_in_prerouting() -> None:
    chains = {}
    for name, message in ruleset.ruleset(18080):
        if name.startswith("create nft") and "chain" in name:
            hook = dict(dict(message["attrs"])["NFTA_CHAIN_HOOK"]["attrs"])
            chains[name] = (hook["NFTA_HOOK_HOOKNUM"], hook["NFTA_HOOK_PRIORITY"])
    assert chains == {
        "create nft nat chain lead": (0, -100),
        "create nft filter chain refuse": (0, 0),
    }


def test_every_rule_of_the_redirect_leads_to_a_redirect() -> None:
    leading = [name for name in names(ruleset.ruleset(18080)) if name.endswith("to lead")]
    assert len(leading) == 2
    assert all("redir" in name for name in leading)
