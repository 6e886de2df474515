"""The mediator that is made while the agent starts: what is refused then is no refusal any more."""

from types import SimpleNamespace

import pytest

from hark.errors import PolicyError
from hark.running.serving import Serving


def test_it_is_made_and_started_once_it_is_wanted() -> None:
    done: list[str] = []
    made = SimpleNamespace(start=lambda: done.append("start"), stop=lambda: done.append("stop"))
    serving = Serving(lambda kind: done.append(kind.__name__) or made)  # type: ignore[arg-type, func-returns-value]
    assert not done
    serving.start()
    assert serving.mediator is made
    serving.stop()
    assert done == ["Mediator", "start", "stop"]


def test_what_it_refuses_when_it_begins_to_serve_is_no_refusal_either() -> None:
    def refuse() -> None:
        raise PolicyError("no")

    made = SimpleNamespace(start=refuse, stop=lambda: None)
    serving = Serving(lambda _kind: made)  # type: ignore[arg-type, return-value]
    with pytest.raises(RuntimeError, match="the mediator could not be started: no"):
        serving.start()


def test_what_it_refuses_is_not_taken_for_an_agent_that_never_started() -> None:
    def refuse(_kind: object) -> None:
        raise PolicyError("no")

    serving = Serving(refuse)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="the mediator could not be started: no"):
        serving.start()
    serving.stop()
    with pytest.raises(RuntimeError, match="not started"):
        _ = serving.mediator
