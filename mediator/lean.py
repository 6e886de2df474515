"""Loads mitmproxy without what hark never uses of it: QUIC, HTTP/3, DNS, and options in YAML files.

They take half of the time that mitmproxy takes to load, in every run and replay. No agent reaches them: UDP
but for names, which hark answers itself, is refused at the boundary, and mitmproxy's options are
`mediator.handler`'s own. Always: each is replaced whole, by classes that cannot be instantiated, so that a
way into one fails closed; where mitmproxy is loaded already, it stays as it is.
"""

import sys
from types import ModuleType
from typing import Any, Final

_LAYERS: Final = "mitmproxy.proxy.layers"
_STAND_INS: Final = {
    f"{_LAYERS}.quic": (
        "ClientQuicLayer",
        "QuicStreamEvent",
        "QuicStreamLayer",
        "RawQuicLayer",
        "ServerQuicLayer",
    ),
    f"{_LAYERS}.http._http3": ("Http3Client", "Http3Server"),
    f"{_LAYERS}.dns": ("DNSLayer",),
}
_YAML: Final = ("ruamel", "ruamel.yaml")


def prepare() -> None:
    """Put the stand-ins in place. MUST be called before anything imports mitmproxy's layers or options."""
    if _LAYERS not in sys.modules:
        for name, classes in _STAND_INS.items():
            sys.modules[name] = module = ModuleType(name, "Not part of hark.")
            vars(module).update({one: _class(one, name) for one in classes})
    if "mitmproxy.optmanager" not in sys.modules and _YAML[0] not in sys.modules:
        for name in _YAML:
            sys.modules[name] = ModuleType(name, "Not part of hark.")


def _class(name: str, module: str) -> type:
    def refuse(_self: object, *_args: Any, **_named: Any) -> None:
        raise RuntimeError(f"{name} is no part of hark")

    return type(name, (), {"__init__": refuse, "__module__": module})
