"""Hash functions of the standard library, from where `hashlib` has them: loading OpenSSL takes some time.

Always: each is what `hashlib` has under that name, or would have without OpenSSL, and gives the same.
"""

from typing import Any, Final

_WHERE: Final = {"blake2b": "_blake2", "sha1": "_sha1", "sha256": "_sha2", "shake_256": "_sha3"}
"""Modules that Python does not promise."""


def __getattr__(name: str) -> Any:
    """Return a function, loaded when it is asked for."""
    if name not in _WHERE:
        raise AttributeError(f"there is no {name} here")
    try:
        module = __import__(_WHERE[name])
    except ImportError:
        module = __import__("hashlib")
    return getattr(module, name)
