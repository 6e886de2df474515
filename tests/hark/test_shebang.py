"""The first line of a script is read as the kernel reads it: the same lines are run here, by the kernel."""

import errno
import subprocess
from pathlib import Path

import pytest

from hark.shebang import SHEBANG_BYTES, behind_env, shebang

ECHO = b"/bin/echo"


def executes(script: Path) -> bool:
    """Ask the kernel."""
    try:
        return bool(subprocess.run([script], capture_output=True, check=True).stdout)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return False


@pytest.mark.parametrize(
    "head",
    [
        b"#!" + ECHO + b"\n",
        b"#! \t" + ECHO + b" word\n",
        b"#!" + ECHO + b"\0not read\n",
        b"#!" + ECHO,
        b"#!" + ECHO + b" " + b"x" * SHEBANG_BYTES,
        b"#!" + b"/" * (SHEBANG_BYTES - 2 - len(ECHO)) + ECHO + b" ",
        b"#!" + b"/" * SHEBANG_BYTES + ECHO + b"\n",
        b"#!\n",
        b"# !" + ECHO + b"\n",
        b"",
    ],
    ids=range(10),
)
def test_a_line_names_a_program_exactly_where_the_kernel_executes_one(tmp_path: Path, head: bytes) -> None:
    script = tmp_path / "script"
    script.write_bytes(head)
    script.chmod(0o755)
    words = shebang(head)
    assert bool(words) == executes(script)
    assert not words or words[0].lstrip("/") == "bin/echo"


def test_words_are_what_stands_between_spaces_and_tabs() -> None:
    assert shebang(b"#!/usr/bin/env -S\tpython3  -u\nprint()\n") == ["/usr/bin/env", "-S", "python3", "-u"]
    assert shebang(b"#!/a\x0bb\n") == ["/a\x0bb"]


def test_behind_env_stands_the_first_word_that_is_neither_option_nor_variable() -> None:
    assert behind_env(["/usr/bin/env", "-S", "A=1", "python3", "-u"]) == "python3"
    assert behind_env(["/usr/bin/env", "-i"]) is None
    assert behind_env(["/bin/sh", "-e"]) is None
