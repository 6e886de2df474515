"""The commands. Imported as the program `hark`, Ctrl-C ends it in silence until it can say something.

Python's own answer to Ctrl-C while a program is being loaded is a traceback; `hark.cli.main.entry` takes
over from there.
"""

import signal
import sys

if sys.argv[0].endswith("/hark") and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
