"""What puts a terminal right when an agent has written to it: what is said next must be seen. No IO.

An agent may end within a string that the terminal still collects (`ESC ]`), conceal what follows, leave the
other screen on, scroll within one line, give text the colour of its background, or have the terminal type by
itself: what the mouse does, brackets around what is pasted. `Sober` sees what it writes and says what to send
behind it: nothing, where it wrote text alone.

Not done here: a picture that looks like hark's own lines. Codes are those of ECMA-48 and xterm's ctlseqs.
"""

from typing import Final

_CONTROLS: Final = frozenset((0x0E, 0x1B, *range(0x80, 0xA0)))
"""Shift out, escape, and the second set of controls, whose bytes stand in UTF-8 text too: no harm is done."""
_COLOURS: Final = (b"\x1b]", b"\x9d")
STRING_ENDS: Final = b"\x18\x1b\\"  # CAN, then ST: whatever is being collected is over
NORMAL: Final = (
    b"\x0f\x1b(B"  # the letters are letters
    b"\x1b[?1047l"  # the main screen; the cursor stays, as with 1049 it might not
    b"\x1b[!p"  # soft reset: margins, origin, insertion, cursor, attributes
    b"\x1b[?25h\x1b[?7h\x1b[?5l\x1b[4l\x1b[0m"  # again, for terminals without one
    b"\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016l"  # no reports of mouse and focus, in any form
    b"\x1b[?2004l"  # what is pasted arrives alone
    b"\x1b[>4m\x1b[=0u"  # keys are spelled as ever: xterm's modifyOtherKeys, kitty's protocol
    b"\x1b[J"  # what stands below would show through
)
COLOURS: Final = b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\"  # palette, text, background


class Sober:
    """Sees what goes to one terminal."""

    def __init__(self) -> None:
        self._touched = False
        self._coloured = False
        self._last = b""

    def see(self, data: bytes) -> None:
        """Take note of what is written."""
        if not self._touched and _CONTROLS.isdisjoint(data):
            return
        self._touched = True
        if not self._coloured:
            seen = self._last + data
            self._coloured = any(start in seen for start in _COLOURS)
            self._last = seen[-1:]

    def ending(self) -> bytes:
        """Return what to send behind all of it."""
        if not self._touched:
            return b""
        return STRING_ENDS + NORMAL + (COLOURS if self._coloured else b"")
