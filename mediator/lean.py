"""Loads mitmproxy without what hark never uses of it: QUIC, HTTP/3, DNS, its WebSockets, its roots, YAML.

They take half of the time that mitmproxy takes to load, in every run and replay. No agent reaches them: UDP
but for names, which hark answers itself, is refused at the boundary, WebSockets are `mediator.websocket`'s,
upstreams are trusted by `mediator.dial`, and mitmproxy's options are `mediator.handler`'s own. Always: each
is replaced whole, by classes that cannot be instantiated, so that a way into one fails closed; where it is
loaded already, mitmproxy stays as it is. Of wsproto its frames can still be imported, and no more.
"""

import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Final

from hark import faces

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
    f"{_LAYERS}.websocket": ("WebsocketLayer",),
    "mitmproxy.websocket": ("WebSocketData", "WebSocketMessage"),
    "mitmproxy.certs": ("Cert", "DHParams"),
    f"{_LAYERS}.http._http2": ("Http2Client", "Http2Server"),
}
_HTTP2: Final = f"{_LAYERS}.http._http2"
_YAML: Final = ("ruamel", "ruamel.yaml")
_NAMED_ALONE: Final = ("certifi", "wsproto.handshake")
"""Modules that are imported for what is never called."""
_FRAMES: Final = "wsproto"
_WRITTEN: Final = ("Encoding", "KeySerializationEncryption", "NoEncryption", "PrivateFormat", "PublicFormat")


def prepare() -> None:
    """Put the stand-ins in place. MUST be called before anything imports mitmproxy's layers or options."""
    if _LAYERS not in sys.modules:
        for name, classes in _STAND_INS.items():
            sys.modules[name] = module = ModuleType(name, "Not part of hark.")
            vars(module).update({one: _class(one, name) for one in classes})
    if "mitmproxy.optmanager" not in sys.modules and _YAML[0] not in sys.modules:
        for name in _YAML:
            sys.modules[name] = ModuleType(name, "Not part of hark.")
    if _FRAMES not in sys.modules and _NAMED_ALONE[0] not in sys.modules:
        _hollow(_FRAMES)
        for name in _NAMED_ALONE:
            sys.modules[name] = ModuleType(name, "Not part of hark.")


def let_http2_in() -> None:
    """Have mitmproxy's HTTP/2 loaded by whoever asks for it next. Who has asked before has the stand-in."""
    stands = sys.modules.get(_HTTP2)
    if stands is not None and stands.__spec__ is None:
        del sys.modules[_HTTP2]


def _hollow(name: str) -> None:
    """Have a package whose modules can be imported without what it imports itself."""
    spec = PathFinder.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        sys.modules[name] = module = ModuleType(name, "Its modules alone.")
        module.__path__ = list(spec.submodule_search_locations)
        module.__spec__ = spec


def _class(name: str, module: str) -> type:
    def refuse(_self: object, *_args: Any, **_named: Any) -> None:
        raise RuntimeError(f"{name} is no part of hark")

    return type(name, (), {"__init__": refuse, "__module__": module})


def hide_certificates() -> None:
    """Have OpenSSL loaded without what makes and reads certificates, until somebody does either by it.

    That takes as long to load as all the rest of TLS. hark writes its own (`mediator.ca`), and reads none.
    """
    import cryptography
    from cryptography.hazmat import primitives
    from cryptography.hazmat.bindings._rust import ObjectIdentifier
    from cryptography.hazmat.primitives import _serialization

    _show("cryptography.x509", cryptography, {"ObjectIdentifier": ObjectIdentifier})
    written = {one: getattr(_serialization, one) for one in _WRITTEN}
    _show("cryptography.hazmat.primitives.serialization", primitives, written)


def _show(name: str, package: ModuleType, known: Mapping[str, Any]) -> None:
    spec = PathFinder.find_spec(name, package.__path__)
    if spec is not None:
        faces.show(name, known, spec.submodule_search_locations)
