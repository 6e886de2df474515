"""Signed tree head: an Ed25519 signature over run id, number of events and root. And the key files.

What always holds: the signed bytes are rebuilt from the fields, never taken from the file; a key or
signature of the wrong size is a BundleError. A private key file holds seed and public key (64 bytes), and
the two must agree. A good signature says that the holder of that key signed. Whose key it is, is not known
here (`hark.verify`).

`cryptography` is imported by the functions that need it: an unsigned bundle is read without paying for it.
"""

import binascii
from struct import pack
from typing import Any, Final, NamedTuple, Protocol

from hark.bundle import cbor
from hark.bundle.fields import BYTES, HASH, INT, TEXT, UINT, Layout, dump, load
from hark.bundle.hashing import HASH_SIZE
from hark.errors import BundleError

DOMAIN: Final = b"hark/sth/v1"
KEY_SIZE: Final = 32
SIGNATURE_SIZE: Final = 64
PRIVATE_PEM: Final = "HARK PRIVATE KEY"
PUBLIC_PEM: Final = "HARK PUBLIC KEY"
MAX_KEY_FILE: Final = 4096  # the longest key file is 200 bytes: a larger one is something else


class TreeHead(NamedTuple):
    """What is signed, by whom, and the signature."""

    run_id: str
    leaf_count: int
    root: bytes
    signed_at: int
    public_key: bytes
    signature: bytes


_LAYOUT: Final[Layout] = {1: TEXT, 2: UINT, 3: HASH, 4: INT, 5: HASH, 6: BYTES}


class Signer(Protocol):
    """Who signs a run. `SigningKey` is one."""

    @property
    def public_key(self) -> bytes:
        """The 32 bytes of the Ed25519 public key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """MUST return the 64 bytes of the Ed25519 signature of `message`."""
        ...


class SigningKey:
    """An Ed25519 private key. It has no repr of its own secrets and is never written by accident."""

    __slots__ = ("_seed", "public_key")

    def __init__(self, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(seed) != KEY_SIZE:
            raise BundleError(f"an Ed25519 seed has {KEY_SIZE} bytes, not {len(seed)}")
        self._seed = seed
        self.public_key: Final = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed).sign(message)

    def to_pem(self) -> str:
        """The private key file; whoever writes it uses mode 0600."""
        return _to_pem(PRIVATE_PEM, self._seed + self.public_key)

    def __repr__(self) -> str:
        return f"SigningKey(public_key={self.public_key.hex()})"


def signed_bytes(run_id: str, leaf_count: int, root: bytes, signed_at: int) -> bytes:
    """The message that a tree head's signature is over."""
    name = run_id.encode()
    return DOMAIN + pack(">Q", len(name)) + name + pack(">Q", leaf_count) + root + pack(">q", signed_at)


def sign(key: SigningKey, run_id: str, leaf_count: int, root: bytes, signed_at: int) -> TreeHead:
    """Sign one."""
    signature = key.sign(signed_bytes(run_id, leaf_count, root, signed_at))
    return TreeHead(run_id, leaf_count, root, signed_at, key.public_key, signature)


def signature_is_good(head: TreeHead) -> bool:
    """Whether the key named in `head` made its signature."""
    message = signed_bytes(head.run_id, head.leaf_count, head.root, head.signed_at)
    return len(head.root) == HASH_SIZE and is_signature(head.public_key, head.signature, message)


def is_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is that of an Ed25519 key over `message`."""
    if (len(public_key), len(signature)) != (KEY_SIZE, SIGNATURE_SIZE):
        return False
    try:
        _public_key(public_key).verify(signature, message)
    except Exception as error:
        from cryptography.exceptions import InvalidSignature

        if isinstance(
            error, InvalidSignature | ValueError
        ):  # ValueError: 32 bytes that are no point of the curve
            return False
        raise
    return True


def _public_key(raw: bytes) -> Any:
    """The key object, by the shortest way: the public module costs `hark verify` 9 ms more."""
    try:
        from cryptography.hazmat.bindings._rust import openssl

        return openssl.ed25519.from_public_bytes(raw)
    except (ImportError, AttributeError):  # not promised by cryptography; what is, does the same
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(raw)


def tree_head_to_raw(head: TreeHead) -> dict[int, object]:
    """The map that a footer holds under key 4."""
    return dump("signed tree head", _LAYOUT, head)


def tree_head_from_raw(raw: cbor.Value) -> TreeHead:
    """Read that map; sizes are checked with the signature, not here."""
    return TreeHead(*load("signed tree head", _LAYOUT, raw))


def encode_tree_head(head: TreeHead) -> bytes:
    """The CBOR of a tree head alone."""
    return cbor.encode(tree_head_to_raw(head))


def decode_tree_head(data: bytes) -> TreeHead:
    """Read the CBOR of a tree head alone."""
    return tree_head_from_raw(cbor.decode(data))


def public_key_to_pem(key: bytes) -> str:
    """The public key file."""
    return _to_pem(PUBLIC_PEM, key)


def parse_signing_key(text: str) -> SigningKey:
    """Read a private key file."""
    body = _from_pem(PRIVATE_PEM, text)
    if len(body) != 2 * KEY_SIZE:
        raise BundleError(f"a {PRIVATE_PEM} holds {2 * KEY_SIZE} bytes, not {len(body)}")
    key = SigningKey(body[:KEY_SIZE])
    if key.public_key != body[KEY_SIZE:]:
        raise BundleError(f"the two halves of the {PRIVATE_PEM} do not belong together: the file is damaged")
    return key


def parse_public_key(text: str) -> bytes:
    """Read a public key: 64 hexadecimal digits, or the text of a public or private key file."""
    text = text.strip()
    if PRIVATE_PEM in text[:64]:
        return parse_signing_key(text).public_key
    body = _from_pem(PUBLIC_PEM, text) if text.startswith("-") else _from_hex(text)
    if len(body) != KEY_SIZE:
        raise BundleError(f"an Ed25519 public key has {KEY_SIZE} bytes, not {len(body)}")
    return body


def _from_hex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise BundleError(f"not a public key: give 64 hexadecimal digits or a {PUBLIC_PEM} file") from None


def _to_pem(label: str, body: bytes) -> str:
    lines = binascii.b2a_base64(body, newline=False).decode()
    wrapped = "\n".join(lines[i : i + 64] for i in range(0, len(lines), 64))
    return f"-----BEGIN {label}-----\n{wrapped}\n-----END {label}-----\n"


def _from_pem(label: str, text: str) -> bytes:
    if len(text) > MAX_KEY_FILE:
        raise BundleError(f"not a {label}: the file has more than {MAX_KEY_FILE} characters")
    lines = text.strip().splitlines()
    if len(lines) < 3 or lines[0] != f"-----BEGIN {label}-----" or lines[-1] != f"-----END {label}-----":
        raise BundleError(f"not a {label}: it should begin with -----BEGIN {label}-----")
    try:
        return binascii.a2b_base64("".join(lines[1:-1]).encode(), strict_mode=True)
    except ValueError:
        raise BundleError(f"the {label} is damaged: what stands between its lines is not base64") from None
