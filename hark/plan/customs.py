"""Names that carry a meaning by custom: files that hold credentials, and files that other programs act on.

By name alone, except where a name says too little: a `.pem` may be a certificate, a `.hark` anything.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

BUNDLE_MAGIC: Final = b"HARK"
_KEY_BYTES: Final = 1 << 16

MASKED: Final = (
    *(".env", ".env.*", ".envrc", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf"),
    *(".htpasswd", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".vault-token"),
)
"""Names of files that hold credentials by custom."""
MASKED_PATHS: Final = (
    *("/.aws/credentials", "/.docker/config.json", "/.kube/config", "/.cargo/credentials"),
    *(
        "/.cargo/credentials.toml",
        "/.gem/credentials",
        "/.config/gh/hosts.yml",
        "/.config/gcloud/credentials.db",
    ),
)
"""The ends of paths of such files: a project may be somebody's other home."""
KEY_FILES: Final = (
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"),
)
"""Names of files that may hold a private key; masked when they do, so that a certificate stays readable."""
_LEFTHOOK: Final = tuple(
    f"{place}{name}.{kind}"
    for place in ("", ".", ".config/")
    for name in ("lefthook", "lefthook-local")
    for kind in ("yml", "yaml", "toml", "json", "jsonc")
)
PROTECTED: Final = (
    # git, Sapling, Jujutsu, hooks of their helpers, shells and their version managers
    *(".gitmodules", ".lfsconfig", ".pre-commit-config.yaml", ".husky", ".lefthook", ".lefthook-local"),
    *_LEFTHOOK,
    *(".sl/config", ".git/sl/config", ".jj/repo/config.toml", ".jj/workspace-config.toml"),
    # what says that a repository, and its settings with it, lies in a folder of any name
    *(".hg/requires", ".hg/sharedpath", ".hg/hgrc-not-shared", ".sl/requires", ".sl/sharedpath"),
    ".jj/repo/store/git_target",
    # lazygit starts pagers, editors and commands of these
    *(".git/lazygit.yml", ".lazygit.yml"),
    # what a shell runs on the way into the folder
    *(".envrc", ".flox/env", ".flox/run"),
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", "mise/config.toml"),
    *(".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml", ".hg/hgrc"),
    # editors
    *(".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".exrc", ".nvim.lua"),
    *(".nvimrc", ".vimrc", ".dir-locals.el", ".dir-locals-2.el", ".helix"),
    # agents
    *(".claude", ".cursor", ".codex", ".gemini", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"),
    *("GEMINI.md", ".cursorrules", ".windsurf", ".windsurfrules", ".clinerules", ".roo", ".continue"),
    *(".aider.conf.yml", ".opencode", "opencode.json", ".junie", ".kiro", ".amazonq", ".qwen"),
    *("opencode.jsonc", "AGENTS.override.md", "AGENT.md", ".agents", ".goosehints", ".crush.json"),
    *("crush.json", ".roomodes", ".trae", ".factory", ".github/copilot-instructions.md"),
)
"""Paths that git, an editor, a shell or another agent acts on without being asked."""
_SCRIPTS: Final = ("js", "cjs", "mjs", "ts", "cts", "mts")
_CONFIGURED: Final = ("eslint", "prettier", "stylelint", "cspell", "commitlint", "lint-staged")
_WITH_SCRIPTS: Final = ("eslint", "prettier", "stylelint", "commitlint", "lintstaged")
NAMED: Final = (
    *(".gdbinit", ".gdbearlyinit", ".lldbinit", ".yarnrc.yml", ".yarnrc", ".pnpmfile.cjs"),
    *(".cargo/config.toml", ".cargo/config", ".code-workspace", ".npmrc", ".bundle/config", ".vim"),
    # what shells of languages, debuggers and typesetters run when they start in the folder
    *(".Rprofile", ".Renviron", ".irbrc", ".pryrc", ".pdbrc", ".pdbrc.py", ".ghci", ".octaverc"),
    *(".latexmkrc", "latexmkrc", ".iex.exs", ".ocamlinit", ".perldb"),
    # what direnv evaluates anew by itself where an .envrc names it
    *("flake.nix", "shell.nix", "devenv.nix"),
    # what build tools load before they read what they build
    *(".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config", ".bazelrc", "bunfig.toml"),
    *("gradle/wrapper/gradle-wrapper.properties", "gradle.properties", ".jvmopts", ".sbtopts", ".project"),
    *("rust-toolchain.toml", "rust-toolchain"),
    # what hooks that are installed already take their commands from
    *(".pre-commit-config.yml", "prek.toml", "hk.pkl", "hk.local.pkl", ".overcommit.yml", ".git-hooks"),
    *(".config/hk.pkl", ".config/hk.local.pkl", "captainhook.json", "grumphp.yml"),
    *(f".lintstagedrc{kind}" for kind in ("", ".json", ".yaml", ".yml")),
    # what linters and formatters run as code, and editors run those when a file is opened or saved
    *(".pylintrc", "pylintrc", ".flake8", "mypy.ini", ".mypy.ini", ".rubocop.yml", ".ycm_extra_conf.py"),
    *(
        "phpstan.neon",
        "phpstan.neon.dist",
        "phpstan.dist.neon",
        ".php-cs-fixer.php",
        ".php-cs-fixer.dist.php",
    ),
    *(".rspec", ".sqlfluff", ".formatter.exs", ".luarc.json", ".luarc.jsonc"),
    *(f".{name}rc.{kind}" for name in _WITH_SCRIPTS for kind in _SCRIPTS),
    *(f"{name}.config.{kind}" for name in _CONFIGURED for kind in _SCRIPTS),
    ".lazy.lua",
)
"""Ends of paths that others act on too, and that an agent may have to change: only named at the end."""


def _by_last_part(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    ends: dict[str, tuple[str, ...]] = {}
    for name in names:
        last = os.path.basename(name)
        ends[last] = (*ends.get(last, ()), f"/{name}")
    return ends


_ENDINGS: Final = _by_last_part((*PROTECTED, *NAMED))
"""By the last part of a name, which most names in a project have not."""


def holds_credentials(entry: os.DirEntry[str]) -> bool:
    """Whether a file, or the file that a link leads to, has such a name or holds a private key."""
    if not _is_file(entry):
        return False  # opening a FIFO would wait for ever
    if any(fnmatchcase(entry.name, pattern) for pattern in MASKED) or entry.path.endswith(MASKED_PATHS):
        return True
    if entry.is_symlink():
        return False  # its target is judged where it lies
    if entry.name.endswith(".hark"):
        # The record of an earlier run is not this agent's to change.
        return _begins_with(entry.path, BUNDLE_MAGIC)
    if not any(fnmatchcase(entry.name, pattern) for pattern in KEY_FILES):
        return False
    return not entry.name.endswith((".pem", ".key")) or _is_private(entry.path)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or leads to one. A link that cannot be followed (a ring) does not."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_service(entry: os.DirEntry[str]) -> bool:
    """Whether a program listens on a unix socket of this name, or reads a FIFO: what is said is in no record.

    One that nobody listens on or reads is a leftover, the agent's own perhaps, and stays. Not to be asked
    while the agent runs: it would be taken for such a program.
    """
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) or entry.is_symlink():
        return False  # asked first: the directory knows it
    try:
        place = os.open(entry.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        mode = os.fstat(place).st_mode
        return (stat.S_ISSOCK(mode) and _is_listened_on(place)) or (stat.S_ISFIFO(mode) and _is_read(place))
    finally:
        os.close(place)


def _is_listened_on(place: int) -> bool:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as caller:
            caller.connect(f"/proc/self/fd/{place}")  # a path of any length
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # of another type, full, or not ours to speak to
    return True


def _is_read(place: int) -> bool:
    """Ask the kernel, which opens no FIFO for writing at once where there is no reader.

    Nothing is written; a reader sees what it sees of any writer that writes nothing and goes.
    """
    try:
        os.close(os.open(f"/proc/self/fd/{place}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return error.errno != errno.ENXIO  # or not ours to write to
    return True


def acted_on(entry: os.DirEntry[str]) -> bool:
    """Whether other programs act on this name: theirs, a repository's, or a bare repository's HEAD."""
    if entry.name == "HEAD":
        return is_repository(os.path.dirname(entry.path))
    if entry.name.endswith(".rc") and os.path.dirname(entry.path).endswith("/.direnv"):
        return True  # nix-direnv's copies of environments, which it evaluates while .envrc is as it was
    is_named = entry.path.endswith(_ENDINGS.get(entry.name, ()))
    return is_named or entry.name == ".git" or entry.name.endswith(".code-workspace")


def is_repository(folder: str) -> bool:
    """Whether git would take a folder for a repository's own (is_git_directory in its setup.c).

    git asks access(2) of `objects` and `refs`, so files will do, and looks for both elsewhere where there is
    a `commondir`. Not asked here: what HEAD says, and modes, which may change later.
    """
    if not os.path.lexists(f"{folder}/HEAD"):
        return False
    whole = os.path.lexists(f"{folder}/objects") and os.path.lexists(f"{folder}/refs")
    return whole or os.path.lexists(f"{folder}/commondir")


def _is_private(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"PRIVATE KEY" in file.read(_KEY_BYTES)
    except OSError:
        return True


def _begins_with(path: str, start: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return True
