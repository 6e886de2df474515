"""The commands. Imported as the program `hark`, Ctrl-C ends it in silence until it can say something.

Python's own answer to Ctrl-C while a program is being loaded is a traceback; `hark.cli.main.entry` takes
over from there.
"""

# Not `signal`, which loads other modules: while it does, the answer would still be Python's.
import _signal  # type: ignore[import-not-found]
import sys

if sys.argv[0].endswith("/hark") and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
