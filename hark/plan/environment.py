"""The agent's environment, built and never inherited: what programs need, and what the policy says.

Not carried over: credentials, agent sockets, proxies, preloads, and every other variable of the caller.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from hark.places import within

KEPT: Final = (
    *("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "EDITOR"),
    *("PAGER", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "JAVA_HOME", "NVM_DIR", "NODE_ENV"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONIOENCODING", "CI"),
    *(
        "PYENV_ROOT",
        "PYENV_VERSION",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "GOROOT",
        "ASDF_DIR",
        "ASDF_DATA_DIR",
    ),
    *("MISE_DATA_DIR", "VOLTA_HOME", "SDKMAN_DIR", "BUN_INSTALL", "PNPM_HOME", "UV_PYTHON_INSTALL_DIR"),
)
"""Variables of the caller that are passed on where they are set: language, terminal, installation. Not those
of caches (CARGO_HOME, GOPATH): these are the agent's own."""
KEPT_PREFIXES: Final = ("LC_",)
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM: Final = ("/usr", "/bin", "/sbin")


def build(
    environ: Mapping[str, str],
    *,
    home: str,
    user: str,
    visible: Iterable[str],
    passed: Iterable[str],
    assigned: Mapping[str, str],
) -> dict[str, str]:
    """Return the agent's variables. `visible` are the paths that the agent can see: PATH keeps no other.

    `passed` and `assigned` are the policy's `[env]`; what it assigns wins over everything else here.
    """
    env = {name: value for name, value in environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    env.setdefault("LANG", "C.UTF-8")
    env |= {"HOME": home, "USER": user, "LOGNAME": user, "SHELL": "/bin/sh", "TMPDIR": "/tmp"}  # noqa: S108 (private)
    env["PATH"] = _path(environ.get("PATH", ""), tuple(visible))
    env |= {name: environ[name] for name in passed if name in environ}
    env |= assigned
    return env


def _path(path: str, visible: tuple[str, ...]) -> str:
    """Keep the caller's order of what the agent can see, and add what every system has."""
    kept = [entry for entry in path.split(":") if _shows(entry, visible)]
    kept += [entry for entry in DEFAULT_PATH.split(":") if entry not in kept]
    return ":".join(dict.fromkeys(kept))


def unseen(path: str, visible: Iterable[str]) -> tuple[str, ...]:
    """Return the directories of the caller's PATH that are there and that the agent finds no program in."""
    shown = tuple(visible)
    entries = [entry for entry in path.split(":") if os.path.isabs(entry) and not _shows(entry, shown)]
    return tuple(dict.fromkeys(entry for entry in entries if os.path.isdir(entry)))


def _shows(entry: str, visible: tuple[str, ...]) -> bool:
    """Whether the agent sees this directory, or one program in it that was shown alone."""
    if not os.path.isabs(entry):
        return False
    return within(entry, (*_SYSTEM, *visible)) or any(os.path.dirname(path) == entry for path in visible)
