"""Anchoring a run's own bundle as soon as it is sealed.

What always holds: the bundle is sealed and where it belongs before anybody is asked, and nothing that happens
here changes that or the run's exit code: what fails is a sentence, and so are Ctrl-C and a polite request to
end.
"""

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hark.anchoring.making import Anchoring
from hark.bundle.tree_head import SigningKey, TreeHead

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def anchored(path: str, signer: SigningKey, asked: Anchoring, head: TreeHead) -> list[str]:
    """Anchor a bundle that was sealed just now, and return what is to be said of it. From the main thread."""
    from hark.anchoring.putting import put_head

    try:
        with _interruptible():
            return [one.result.sentence() for one in put_head(path, signer, asked, head)]
    except KeyboardInterrupt:
        why = "it was interrupted"
    except Exception as error:  # noqa: BLE001 - the run is over and sealed: a bug in here may not say otherwise
        why = str(error) or type(error).__name__
    again = shlex.join(("hark", "anchor", *asked.words, path))
    return [f"not anchored: {why}", f"the bundle is sealed and signed all the same; {again} tries again"]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have signals end the waiting: until now they were the agent's, and it has ended."""
    caught = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, signal.default_int_handler) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
