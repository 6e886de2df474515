"""Stand-ins are drawn anew for placeholders that hark made, and for nothing else."""

from hark.policy.model import HostRule, SecretSpec
from mediator.credentials import Broker
from mediator.playback.standins import stand_ins
from tests.mediator.rig import API, PLACEHOLDER


def spec(name: str) -> SecretSpec:
    """Return a secret of a policy."""
    return SecretSpec(name, name, None, (HostRule.parse(API),))


def test_a_stand_in_is_as_long_as_its_placeholder_and_another_each_time() -> None:
    first, second = (stand_ins((spec("KEY"),), {"KEY": PLACEHOLDER})[0] for _ in range(2))
    assert (first.name, first.placeholder, len(first.value)) == ("KEY", PLACEHOLDER, len(PLACEHOLDER))
    assert first.value != second.value
    assert PLACEHOLDER not in (first.value, second.value)
    assert Broker([first]).even


def test_what_hark_could_not_have_made_is_no_placeholder_and_one_stands_for_one_secret() -> None:
    specs = tuple(spec(name) for name in ("A", "B", "C", "D", "E"))
    env = {"A": "a", "B": PLACEHOLDER + "\n", "C": PLACEHOLDER, "D": PLACEHOLDER}
    assert [secret.name for secret in stand_ins(specs, env)] == ["C"]
