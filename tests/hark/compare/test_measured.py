"""What a fork did is what it did from its own branch on."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.compare.measured import measure
from hark.compare.prices import read
from hark.errors import BundleError
from tests.hark.compare.test_prices import ONE
from tests.support.recordings import bundle

PRICES = read(ONE.encode(), "p")
PARENT = bytes(range(32))


def ask(number: int, model: str, answered: str = "", usage: dict[str, int] | None = None) -> list[Any]:
    """One question to a model and its answer."""
    body = json.dumps({"model": model, "messages": []}).encode()
    counted = {"input_tokens": 1000, "output_tokens": 100} if usage is None else usage
    answer = {"type": "message", "model": answered or model, "content": [], "usage": counted}
    return [
        ev.LlmRequest("api.example", "POST", "/v1/messages", {}, body, exchange=number),
        ev.LlmResponseChunk(0, json.dumps(answer).encode(), exchange=number),
        ev.LlmResponseEnd(200, {}, 1, exchange=number),
    ]


def branch(side: str, exchange: int, parent: bytes = PARENT) -> ev.Branch:
    return ev.Branch(parent, 8, side, verified=1, exchange=exchange)


def test_what_was_played_is_not_counted_and_the_branchs_own_request_is(tmp_path: Path) -> None:
    asked, chunk, end = ask(2, "old", "one")
    rewritten = ev.Rewritten(2, (), json.dumps({"model": "one"}).encode(), "-model")
    happened = [*ask(1, "old"), asked, branch("request", 2), rewritten, chunk, end, *ask(3, "one")]
    found = measure(bundle(tmp_path / "fork.hark", *happened), "one", PRICES)
    assert (found.spent.calls, found.spent.input, found.spent.money) == (2, 2000, {"USD": Decimal("0.006")})
    assert found.live_ns == 1000 * 7  # the branch is the seventh event before the last


def test_an_answer_that_was_patched_was_played_and_cost_nothing(tmp_path: Path) -> None:
    asked, chunk, end = ask(2, "old")
    happened = [*ask(1, "old"), asked, branch("response", 2), chunk, end, *ask(3, "one")]
    found = measure(bundle(tmp_path / "fork.hark", *happened), "one", PRICES)
    assert (found.spent.calls, found.spent.models) == (1, {"one": 1})


def test_of_a_fork_of_a_fork_the_last_branch_counts(tmp_path: Path) -> None:
    happened = [branch("response", 1), *ask(2, "old"), branch("response", 2, bytes(32)), *ask(3, "one")]
    assert measure(bundle(tmp_path / "fork.hark", *happened), "one", PRICES).spent.calls == 1


def test_a_price_is_that_of_what_was_sent_and_not_of_what_the_agent_named(tmp_path: Path) -> None:
    asked, chunk, end = ask(2, "dear", "a stub")
    sent = ev.Rewritten(2, (), json.dumps({"model": "one"}).encode(), "-model")
    control = measure(
        bundle(tmp_path / "control.hark", branch("response", 1), asked, chunk, end), "one", PRICES
    )
    assert list(control.spent.unpriced) == ["no price for a stub (asked for as dear)"]
    found = measure(
        bundle(tmp_path / "fork.hark", branch("response", 1), asked, sent, chunk, end), "one", PRICES
    )
    assert found.spent.is_priced
    packed = sent._replace(body=b"\x1f\x8b")  # what cannot be read was set to the model all the same
    found = measure(
        bundle(tmp_path / "packed.hark", branch("response", 1), asked, packed, chunk, end), "one", PRICES
    )
    assert found.spent.is_priced


def test_actions_are_those_of_the_live_part(tmp_path: Path) -> None:
    whole = measure(bundle(tmp_path / "a.hark", branch("response", 9), *ask(1, "x"), *ask(2, "x")), "x", {})
    half = measure(bundle(tmp_path / "b.hark", *ask(1, "x"), branch("response", 1), *ask(2, "x")), "x", {})
    assert (whole.actions, half.actions) == (half.actions + 1, half.actions)
    assert half.actions > 0


@pytest.mark.parametrize("seal", [True, False])
def test_what_is_no_fork_that_ended_is_not_measured(tmp_path: Path, seal: bool) -> None:
    more = [] if seal else [branch("response", 1)]
    path = bundle(tmp_path / "run.hark", *more, *ask(1, "x"), seal=seal)
    with pytest.raises(BundleError, match="is not the bundle of a fork that ended"):
        measure(path, "x", {})
