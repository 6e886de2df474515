"""Hash functions without OpenSSL: they are `hashlib`'s, and OpenSSL stays away."""

import hashlib
import subprocess
import sys

import pytest

from hark import sums

NAMES = ("blake2b", "sha1", "sha256")
WITHOUT = """
import sys
{before}
from hark.sums import sha1, sha256, blake2b, shake_256
print(sha256(b"a").hexdigest(), *sorted({{"_hashlib", "hashlib"}} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b"a" * 1000])
def test_each_gives_what_hashlib_gives(name: str, data: bytes) -> None:
    assert getattr(sums, name)(data).hexdigest() == getattr(hashlib, name)(data).hexdigest()
    assert sums.shake_256(data).digest(70) == hashlib.shake_256(data).digest(70)


def _said(before: str) -> str:
    code = WITHOUT.format(before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_openssl_is_not_loaded_for_them() -> None:
    assert _said("").split() == [hashlib.sha256(b"a").hexdigest()]


def test_a_python_that_has_them_elsewhere_gives_its_own() -> None:
    without = "sys.modules.update(dict.fromkeys(('_sha1', '_sha2', '_sha3', '_blake2')))"
    assert _said(f"import hashlib; {without}").split()[0] == hashlib.sha256(b"a").hexdigest()


def test_another_name_is_none_of_its() -> None:
    with pytest.raises(AttributeError, match="md5"):
        _ = sums.md5
