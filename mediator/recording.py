"""What one run's record is kept by, and the agent's input on it: there before the mediator is loaded.

Light to import: an agent waits for it, and for the mediator only once it asks something.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from hark.bundle.events import Input
from hark.errors import HarkError
from mediator.borders import Borders
from mediator.ledger import Ledger

if TYPE_CHECKING:
    from launcher.intake import Record
    from mediator.config import MediatorConfig, Recorder
    from mediator.credentials import Broker


def ledger_of(
    config: MediatorConfig,
    recorder: Recorder,
    broker: Broker,
    on_fatal: Callable[[str], None],
    on_limit: Callable[[str], None] | None = None,
) -> Ledger:
    """Return the one way to the recorder, as the run's policy and playback have it."""
    playback = config.playback
    return Ledger(
        recorder,
        on_fatal,
        time.monotonic,
        events_per_s=config.policy.limits.events_per_s,
        on_limit=on_limit,
        check=Borders(broker).check,
        observer=None if playback is None else playback.observe,
    )


def taking(ledger: Ledger) -> Record:
    """Return what records what is about to reach the agent's standard input or terminal; from any thread.

    False: it was not recorded, may not be passed on, and the run is being ended.
    """
    return partial(_take, ledger)


def _take(ledger: Ledger, source: str, data: bytes, end: bool) -> bool:  # noqa: FBT001  (a Record)
    try:
        ledger.append(Input(source=source, data=data, end=end))
    except HarkError:
        return False
    return True
