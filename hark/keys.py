"""Ed25519 keys as the user meets them: the signing key of their runs, key files, and names to compare.

What always holds: a private key file is created with mode 0600, whole or not at all, and never overwrites
anything; a private key that others can read, or that belongs to somebody else, is refused in words. A
key's name is `NAME_BITS` bits of the BLAKE3 of the public key: enough to recognise one's own key, not to
pin a stranger's (pin the 64 hex digits). No message holds key material. Encryption at rest and rotation
are not done here; the bytes of a key file are `hark.bundle.tree_head`'s.
"""

import contextlib
import os
import stat
from collections.abc import Mapping
from errno import EEXIST
from typing import Final

from hark.bundle.regular import open_regular
from hark.bundle.tree_head import (
    KEY_SIZE,
    MAX_KEY_FILE,
    PUBLIC_PEM,
    SigningKey,
    parse_public_key,
    parse_signing_key,
    public_key_to_pem,
)
from hark.errors import BundleError, PolicyError, UsageError, no_place

HEX_DIGITS: Final = 2 * KEY_SIZE
NAME_WORDS: Final = 6
BITS_A_WORD: Final = 10
NAME_BITS: Final = NAME_WORDS * BITS_A_WORD
NAME_CONTEXT: Final = b"hark/key-name/v1"  # keeps a name apart from every other hash over the same 32 bytes


def generate() -> SigningKey:
    """A new key from the system's randomness."""
    return SigningKey(os.urandom(KEY_SIZE))


def name(public: bytes) -> str:
    """The key's name: six words joined by dashes, for people to compare by eye or by telephone."""
    from blake3 import blake3

    from hark.words import WORDS

    bits = int.from_bytes(blake3(NAME_CONTEXT + public).digest()[:8]) >> (64 - NAME_BITS)
    shifts = range(NAME_BITS - BITS_A_WORD, -1, -BITS_A_WORD)
    return "-".join(WORDS[bits >> shift & (1 << BITS_A_WORD) - 1] for shift in shifts)


def public_from(text: str, option: str = "-key ") -> bytes:
    """What `-key HEX|FILE` means: 64 hex digits, or the name of a key file (`./` in front settles doubts).

    `option` stands in front of it in an error.
    """
    if len(text) == HEX_DIGITS and not set(text.lower()) - set("0123456789abcdef"):
        return bytes.fromhex(text)
    try:
        fd = open_regular(text)
    except FileNotFoundError:
        raise UsageError(
            f"{option}{text} is neither {HEX_DIGITS} hex digits nor a file that exists"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {option}{text}: {error.strerror}") from None
    try:
        return parse_public_key(_read(fd))
    except BundleError as error:
        raise UsageError(f"{option}{text}: {error}") from None
    finally:
        os.close(fd)


def load_private(path: str) -> SigningKey:
    """Read a private key that only its owner can read, and whose owner is the caller (or root)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(fd)
        text = _read(fd) if stat.S_ISREG(status.st_mode) else ""
        if text.startswith(f"-----BEGIN {PUBLIC_PEM}-----"):
            raise PolicyError(f"{path} is a public key; to sign, name the private key that it belongs to")
        _refuse_exposed(status, path, directory=False)
        return parse_signing_key(text)
    except BundleError as error:  # a key to sign with is the operator's to mend, before any run starts
        raise PolicyError(f"{path}: {error}") from None
    finally:
        os.close(fd)


def create_private(path: str, key: SigningKey) -> None:
    """Write a private key file whole, mode 0600. Raises FileExistsError and leaves what is there alone.

    The bytes go to a name of their own first and are linked into place: of two processes that race exactly
    one succeeds, and neither ever sees half a key.
    """
    _create(path, key.to_pem().encode(), 0o600)


def create_public(path: str, public: bytes) -> None:
    """Write a public key file, mode 0644. Raises FileExistsError and leaves what is there alone."""
    _create(path, public_key_to_pem(public).encode(), 0o644)


def user_key_path(environ: Mapping[str, str]) -> str:
    """Where the user's signing key lies: `$XDG_CONFIG_HOME/hark/signing.key`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: a relative path is to be ignored
        home = environ.get("HOME", "")
        if not os.path.isabs(home):
            raise PolicyError("neither XDG_CONFIG_HOME nor HOME says where hark's signing key lies; set one")
        base = os.path.join(home, ".config")
    return os.path.join(base, "hark", "signing.key")


def user_key(environ: Mapping[str, str]) -> tuple[SigningKey, bool]:
    """The user's signing key and whether it was made just now. First runs that race agree on one key."""
    path = user_key_path(environ)
    ensure_private_directory(os.path.dirname(path))
    made = False
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):
            create_private(path, generate())
            made = True
    key = load_private(path)
    with contextlib.suppress(
        OSError
    ):  # it can be made again from the private half, and stands in each bundle
        _show_public(f"{path}.pub", key.public_key)
    return key, made


def _show_public(path: str, public: bytes) -> None:
    """Have the half to hand out beside the key; that of an older key steps aside under its own name."""
    if os.path.lexists(path):
        older = public_from(path)
        if older == public:
            return
        os.rename(path, f"{path}.{older.hex()[:8]}")
    create_public(path, public)


def ensure_private_directory(path: str) -> None:
    """Make the directory with mode 0700, or refuse one that others could reach into."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        info = os.stat(path)
    except OSError as error:
        what = f"make {path}, where hark keeps its key"
        raise UsageError(no_place(what, error, "XDG_CONFIG_HOME")) from None
    _refuse_exposed(info, path, directory=True)


def _refuse_exposed(info: os.stat_result, path: str, *, directory: bool) -> None:
    """What ssh does for its keys: another owner or any bit for group and others is an error."""
    what, mode = ("directory", 0o700) if directory else ("key file", 0o600)
    right_type = stat.S_ISDIR(info.st_mode) if directory else stat.S_ISREG(info.st_mode)
    if not right_type:
        raise PolicyError(f"{path} is not a {what}")
    if info.st_uid not in {os.geteuid(), 0}:
        raise PolicyError(f"the {what} {path} belongs to user id {info.st_uid}, not to you")
    if info.st_mode & 0o077:
        loose = stat.S_IMODE(info.st_mode)
        raise PolicyError(
            f"the {what} {path} can be used by others (mode {loose:04o}); run: chmod {mode:04o} {path}"
        )


def _create(path: str, data: bytes, mode: int) -> None:
    if os.path.lexists(path):
        raise FileExistsError(EEXIST, os.strerror(EEXIST), path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(8).hex()}")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None  # the name that the user knows
    try:
        _fill(fd, path, data, mode)
        os.link(temporary, path, follow_symlinks=False)
    finally:
        os.unlink(temporary)


def _fill(fd: int, path: str, data: bytes, mode: int) -> None:
    """Write, sync and close a new file."""
    try:
        os.fchmod(fd, mode)  # whatever the umask says
        while data:
            data = data[os.write(fd, data) :]
        os.fsync(fd)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UsageError(f"cannot write {path}: {why}; make room there, or name another place") from None
    finally:
        os.close(fd)


def _read(fd: int) -> str:
    """What a key file holds; bytes that no key file has become characters that none has either."""
    return os.read(fd, MAX_KEY_FILE + 1).decode("ascii", "replace")
