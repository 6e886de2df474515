"""The patch of a fork that is made in an editor, on what was recorded at the branch point.

Always: the text that is shown is the bundle's, and nothing of it is run here; what comes back is a patch file
as anybody could have written it, and is read as strictly.
"""

from collections.abc import Callable
from typing import Final

from hark.fork.message import recorded_message
from hark.fork.point import recorded_at
from hark.patch.edit import of_answer, of_message, of_request, patch_of
from hark.patch.where import Side, find
from hark.rerun.recalled import Recalled
from hark.rerun.replaying import recorded_frames
from hark.visible import printable

type Editor = Callable[[str], str]
"""Shows a text to be changed, and returns what was left. MAY raise a HarkError."""

SOURCE: Final = "the patch of -edit"
MOST_NOTED: Final = 500  # characters of a request's name, which the agent chose
MOST_SHOWN: Final = 2000  # characters of a patch in one line; the fork's record has it whole


def made(recalled: Recalled, at: str, editor: Editor) -> bytes:
    """Return the patch file that leads to what the editor left. Raises ForkError, PatchError."""
    point = find(at, recorded_frames(recalled), None, otherwise=Side.RESPONSE)
    if point.talk:
        shown = of_message(recorded_message(recalled, point)[1], point.side)
    else:
        _, recorded, sent = recorded_at(recalled, point)
        shown = of_request(sent) if point.side is Side.REQUEST else of_answer(recorded.parts)
    return patch_of(shown, editor(shown.text), f"edited: {point.words[:MOST_NOTED]}")


def told(patch: bytes) -> str:
    """Return a patch for a person, in one line."""
    text = printable(" ".join(line.strip() for line in patch.decode().splitlines()))
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
