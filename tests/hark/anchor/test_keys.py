import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hark.anchor.jsonform import MalformedError
from hark.anchor.keys import PublicKey, from_ed25519, from_pem

MESSAGE = b"message"
RSA = rsa.generate_private_key(65537, 2048)
ED25519 = ed25519.Ed25519PrivateKey.generate()
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())


def der(key, form=PublicFormat.SubjectPublicKeyInfo):
    return key.public_key().public_bytes(Encoding.DER, form)


SIGNED = {
    "p256": (der(P256), P256.sign(MESSAGE, ec.ECDSA(hashes.SHA256()))),
    "p384": (der(P384), P384.sign(MESSAGE, ec.ECDSA(hashes.SHA384()))),
    "ed25519": (der(ED25519), ED25519.sign(MESSAGE)),
    "rsa": (der(RSA), RSA.sign(MESSAGE, padding.PKCS1v15(), hashes.SHA256())),
    "rsa-bare": (der(RSA, PublicFormat.PKCS1), RSA.sign(MESSAGE, padding.PKCS1v15(), hashes.SHA256())),
}


@pytest.mark.parametrize(("key", "signature"), SIGNED.values(), ids=SIGNED)
def test_a_signature_is_good_over_its_message_alone(key, signature):
    public = PublicKey(key)
    assert public.has_signed(MESSAGE, signature)
    assert not public.has_signed(b"other", signature)
    assert not public.has_signed(MESSAGE, b"")
    assert not public.has_signed(MESSAGE, signature[:-1])


def test_only_p256_is_p256():
    assert [name for name, (key, _) in SIGNED.items() if PublicKey(key).is_p256()] == ["p256"]


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x30\x00",
        bytes(2000),
        der(dsa.generate_private_key(1024)),
        der(ec.generate_private_key(ec.SECP256K1())),
        der(rsa.generate_private_key(65537, 1024)),
    ],
    ids=["empty", "short", "long", "dsa", "another-curve", "weak-rsa"],
)
def test_what_no_log_signs_with_is_malformed(key):
    with pytest.raises(MalformedError):
        PublicKey(key)


def test_keys_are_read_from_pem_and_from_32_bytes():
    pem = P256.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert from_pem(pem).der == der(P256)
    assert from_ed25519(ED25519.public_key().public_bytes_raw()).der == der(ED25519)
    with pytest.raises(MalformedError):
        from_pem(pem.replace(b"M", b"+", 3))
    with pytest.raises(MalformedError):
        from_ed25519(bytes(31))
