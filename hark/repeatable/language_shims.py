"""The shims of languages that hold randomness of their own: what the agent is shown, and what loads it there.

Each knows what the preloaded library cannot: the task, the asynchronous context, the worker. They read the
same page and say in the same log what does not work. A program that takes these variables out of its
environment, or is told to ignore them, draws by thread.
"""

import os
from collections.abc import Mapping
from typing import Final

from hark.repeatable.shim_library import source_folder
from launcher.pages import FOLDER

PYTHON_FOLDER: Final = f"{FOLDER}/python"
PYTHON_SHIM: Final = f"{PYTHON_FOLDER}/sitecustomize.py"
NODE_SHIM: Final = f"{FOLDER}/node.cjs"
_SOURCES: Final = ("python/sitecustomize.py", "node.cjs")
MECHANISMS: Final = ("random python", "random node")


def files() -> dict[str, bytes]:
    """The shims by their path inside. Raises OSError."""
    folder = source_folder()
    found = {}
    for name in _SOURCES:
        with open(os.path.join(folder, name), "rb") as file:
            found[f"{FOLDER}/{name}"] = file.read()
    return found


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """What loads them, in front of what `env` has."""
    path, options = env.get("PYTHONPATH", ""), env.get("NODE_OPTIONS", "")
    return {
        "PYTHONPATH": f"{PYTHON_FOLDER}:{path}" if path else PYTHON_FOLDER,
        "NODE_OPTIONS": f"--require {NODE_SHIM} {options}".rstrip(),
    }
