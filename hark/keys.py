"""Ed25519 keys on disk and in words: the user's signing key, key files, and names that people can compare.

What always holds: a private key file is created with mode 0600, whole or not at all, and never overwrites
anything; a private key that others can read, that belongs to somebody else, or whose two halves disagree
is refused in words. A key's name is `NAME_BITS` bits of the BLAKE3 of the public key: enough to recognise
one's own key, not to pin a stranger's (pin the 64 hex digits). Nothing is printed here, and no message
holds key material. Encryption at rest and rotation are not done here.

Key files are PEM: `HARK PRIVATE KEY` is the seed and the public key (64 bytes), `HARK PUBLIC KEY` the
public key (32 bytes).
"""

import os
import stat
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from errno import EEXIST, ENOSPC
from typing import Final, NamedTuple

from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hark.errors import BundleError, PolicyError, UsageError

PRIVATE_LABEL: Final = "HARK PRIVATE KEY"
PUBLIC_LABEL: Final = "HARK PUBLIC KEY"
SEED_SIZE: Final = 32
PUBLIC_SIZE: Final = 32
PUBLIC_HEX: Final = 2 * PUBLIC_SIZE
MAX_KEY_FILE: Final = 4096  # a key file is under 200 bytes; anything larger is another file named by mistake
NAME_WORDS: Final = 6
BITS_A_WORD: Final = 10
NAME_BITS: Final = NAME_WORDS * BITS_A_WORD
NAME_CONTEXT: Final = b"hark/key-name/v1"  # keeps a name apart from every other hash over the same 32 bytes


class SigningKey(NamedTuple):
    """A private key in memory. Its repr shows the public half alone."""

    seed: bytes
    public: bytes

    def __repr__(self) -> str:
        return f"SigningKey(public={self.public.hex()})"

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature over `message`."""
        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)


def generate() -> SigningKey:
    """A new key from the system's randomness."""
    return from_seed(os.urandom(SEED_SIZE))


def from_seed(seed: bytes) -> SigningKey:
    """The key that belongs to a 32-byte seed."""
    return SigningKey(seed, Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def name(public: bytes) -> str:
    """The key's name: six words joined by dashes, for people to compare by eye or by telephone."""
    from hark.words import WORDS

    bits = int.from_bytes(blake3(NAME_CONTEXT + public).digest()[:8]) >> (64 - NAME_BITS)
    shifts = range(NAME_BITS - BITS_A_WORD, -1, -BITS_A_WORD)
    return "-".join(WORDS[bits >> shift & (1 << BITS_A_WORD) - 1] for shift in shifts)


def encode_private(key: SigningKey) -> bytes:
    """The bytes of a private key file."""
    return _pem(PRIVATE_LABEL, key.seed + key.public)


def encode_public(public: bytes) -> bytes:
    """The bytes of a public key file."""
    return _pem(PUBLIC_LABEL, public)


def decode_private(data: bytes, where: str) -> SigningKey:
    """A private key file's bytes as a key. `where` names the file in errors."""
    label, body = _unpem(data, where)
    if label == PUBLIC_LABEL:
        raise BundleError(f"{where} is a public key; signing needs the private key it was made with")
    key = from_seed(body[:SEED_SIZE])
    if key.public != body[SEED_SIZE:]:
        raise BundleError(f"{where} is damaged: its private and public half do not belong together")
    return key


def decode_public(data: bytes, where: str) -> bytes:
    """The public key in a key file of either kind."""
    label, body = _unpem(data, where)
    return body if label == PUBLIC_LABEL else decode_private(data, where).public


def public_from(text: str) -> bytes:
    """What `-key HEX|FILE` means: 64 hex digits, or the name of a key file (`./` in front settles doubts)."""
    if len(text) == PUBLIC_HEX and not set(text.lower()) - set("0123456789abcdef"):
        return bytes.fromhex(text)
    try:
        data = _read(text)
    except FileNotFoundError:
        raise UsageError(f"-key {text} is neither {PUBLIC_HEX} hex digits nor a file that exists") from None
    return decode_public(data, text)


def load_private(path: str) -> SigningKey:
    """Read a private key that only its owner can read, and whose owner is the caller (or root)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _refuse_exposed(os.fstat(fd), path, directory=False)
        data = os.read(fd, MAX_KEY_FILE + 1)
    finally:
        os.close(fd)
    try:
        return decode_private(data, path)
    except BundleError as error:  # of a key to sign with: the operator's to mend, before any run starts
        raise PolicyError(str(error)) from None


def create_private(path: str, key: SigningKey) -> None:
    """Write a private key file whole, mode 0600. Raises FileExistsError and leaves what is there alone.

    The bytes go to a name of their own first and are linked into place: of two processes that race exactly
    one succeeds, and neither ever sees half a key.
    """
    _create(path, encode_private(key), 0o600)


def create_public(path: str, public: bytes) -> None:
    """Write a public key file, mode 0644. Raises FileExistsError and leaves what is there alone."""
    _create(path, encode_public(public), 0o644)


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
    try:
        return load_private(path), False
    except FileNotFoundError:
        pass
    try:
        create_private(path, generate())
    except FileExistsError:
        return load_private(path), False
    return load_private(path), True


def ensure_private_directory(path: str) -> None:
    """Make the directory with mode 0700, or refuse one that others could reach into."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        _refuse_exposed(os.stat(path), path, directory=True)


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
        if os.write(fd, data) != len(data):
            raise OSError(ENOSPC, os.strerror(ENOSPC), path)
        os.fsync(fd)
    finally:
        os.close(fd)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, MAX_KEY_FILE + 1)
    finally:
        os.close(fd)


def _pem(label: str, body: bytes) -> bytes:
    text = b2a_base64(body, newline=False).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode()


def _unpem(data: bytes, where: str) -> tuple[str, bytes]:
    """Label and body of a file that holds exactly what `_pem` writes: read, written again, compared."""
    data = data.replace(b"\r\n", b"\n")  # what mail and other systems make of a text file
    for label, size in ((PRIVATE_LABEL, SEED_SIZE + PUBLIC_SIZE), (PUBLIC_LABEL, PUBLIC_SIZE)):
        if not data.startswith(f"-----BEGIN {label}-----".encode()):
            continue
        try:
            body = a2b_base64(b"".join(data.split(b"\n")[1:-2]), strict_mode=True)
        except Base64Error:
            body = b""
        if len(body) == size and _pem(label, body) == data:
            return label, body
        raise BundleError(f"{where} is damaged: it starts as a {label} but does not read as one")
    raise BundleError(
        f"{where} is not a key file: it does not start with BEGIN {PUBLIC_LABEL} or {PRIVATE_LABEL}"
    )
