"""Another time of day for each replay: hours ahead of the machine's and behind it, by turns.

Only what asks by way of libc sees it: hark does, a static program does not, whoever replays it. No privilege
is needed, and nobody else's clock moves. Where there is no C compiler the clock stays where it is.
"""

import shutil
from collections.abc import Mapping
from typing import Final

from tests.support.otherday import moved
from tests.support.user import User

STEP_S: Final = 5 * 3600 + 17


def seconds(turn: int) -> int:
    """How far the clock is moved: further at each second turn, at every other one the other way."""
    further = (turn // 2 + 1) * STEP_S
    return -further if turn % 2 else further


def there(user: User, turn: int) -> Mapping[str, str]:
    """The variables that move it; what they name lies beside the user's home."""
    return moved(user.home.parent, seconds(turn)) if can_be_moved() else {}


def can_be_moved() -> bool:
    """Tell whether what moves it can be built here."""
    return shutil.which("cc") is not None
