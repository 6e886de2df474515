"""The caller's editor: a text is shown in it, and what was left comes back.

Always: the text lies in a directory that nobody else can read, and is gone afterwards. The editor is what
VISUAL or EDITOR says, as git and crontab take it: words of a shell, with the file behind them.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hark.errors import UsageError


def edit(text: str, environ: Mapping[str, str]) -> str:
    """Return what an editor left of a text. Raises UsageError where it failed."""
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="hark-edit-") as folder:
        name = "body.json" if text[:1] in ("{", "[") else "body.txt"
        file = Path(folder, name)
        file.write_bytes(text.encode())
        # As git does: EDITOR may have options in it, and is the caller's own word.
        done = subprocess.run(["sh", "-c", f'{editor} "$1"', "sh", str(file)], env=dict(environ), check=False)
        if done.returncode:
            raise UsageError(
                f"the editor ended with {done.returncode}: nothing was started; name one in VISUAL or EDITOR"
            )
        try:
            return file.read_bytes().decode()
        except OSError as error:
            raise UsageError(f"the editor left no file: {os.strerror(error.errno or 0)}") from None
        except UnicodeDecodeError:
            raise UsageError("what the editor left is not UTF-8") from None
