"""Traces the named programs, or all, and writes what they called to launcher/traced.py.

    python -m tests.traces [NAME...]

A program that was not traced keeps what the file says of it. One of which something is missing here is an
error: the file would otherwise forget it. Run it on x86-64: arm64 lacks some calls, and programs make their
newer forms there.
"""

import sys
from pathlib import Path
from typing import Final

from launcher import traced
from tests.traces.programs import PROGRAMS
from tests.traces.record import calls, missing

FILE: Final = Path(traced.__file__)
HEAD: Final = '''"""Which programs were seen to make which system call: written by `python -m tests.traces`.

A call that stands here is wanted, not yet allowed: launcher.syscalls decides. Traced on x86-64.
"""

from typing import Final

TRACED: Final[dict[str, str]] = {
'''


def render(seen: dict[str, set[str]]) -> str:
    """The file's text."""
    lines = [
        f'    "{call}": "{" ".join(sorted(programs))}",'
        for call, programs in sorted(seen.items())
        if programs
    ]
    return HEAD + "\n".join(lines) + '\n}\n"""Each call\'s programs, separated by spaces."""\n'


def main(names: list[str]) -> int:
    """Trace and write."""
    chosen = [program for program in PROGRAMS if not names or program.name in names]
    seen = {call: set(programs.split()) for call, programs in traced.TRACED.items()}
    for program in chosen:
        if lacking := missing(program):
            print(f"{program.name}: not traced, {', '.join(lacking)} is not installed", file=sys.stderr)
            return 1
        found = calls(program)
        print(f"{program.name}: {len(found)} calls")
        for call in found | seen.keys():
            programs = seen.setdefault(call, set())
            (programs.add if call in found else programs.discard)(program.name)
    FILE.write_text(render(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
