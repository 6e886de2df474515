"""Loads mitmproxy without what hark never uses of it: QUIC, HTTP/3, DNS, its WebSockets, its roots, YAML.

They take half of the time that mitmproxy takes to load, in every run and replay. No agent reaches them: UDP
but for names, which hark answers itself, is refused at the boundary, WebSockets are `mediator.websocket`'s,
upstreams are trusted by `mediator.dial`, and mitmproxy's options are `mediator.handler`'s own. Always: each
is replaced whole, by classes that cannot be instantiated, so that a way into one fails closed; where it is
loaded already, mitmproxy stays as it is. Of wsproto its frames can still be imported, and no more.
"""

import re
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Final, NoReturn

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
}
_YAML: Final = ("ruamel", "ruamel.yaml")
_NAMED_ALONE: Final = ("certifi", "wsproto.handshake")
"""Modules that are imported for what is never called."""
_FRAMES: Final = "wsproto"
_NAMES: Final = "cryptography.x509.name"


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


class _Unread:
    """Stands for a pattern that nothing is matched with."""

    def match(self, *_args: object, **_named: object) -> NoReturn:
        raise RuntimeError("reading a certificate's name is no part of hark")


def load_certificates() -> None:
    """Load what certificates are made with, but for the pattern that reads their names written as text.

    It covers all of Unicode, and compiling it takes a quarter of the whole. hark reads no names.
    """
    if _NAMES in sys.modules:
        return
    compiled = re.compile

    def compile_but_one(pattern: Any, flags: int = 0) -> Any:
        if flags & re.VERBOSE and sys._getframe(1).f_globals.get("__name__") == _NAMES:  # noqa: SLF001
            return _Unread()
        return compiled(pattern, flags)

    re.compile = compile_but_one  # of other threads too, for whom nothing changes
    try:
        import cryptography.x509  # noqa: F401
    finally:
        re.compile = compiled
