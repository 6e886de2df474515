"""HTTP/2 is loaded when it is spoken, and spoken by our classes alone."""

import pytest

from tests.mediator.test_lean import PREPARED, said

SPOKEN = "from mediator import h2\nkind = h2.agent_side()\nmade = kind.__new__(kind)\n"
LOADED = "print(*sorted({'h2.connection', 'hpack', 'mediator.wire_h2'} & set(sys.modules)))\n"


def test_an_agents_connection_is_handled_without_it_until_it_is_spoken() -> None:
    assert said(PREPARED + LOADED) == ""
    assert said(PREPARED + SPOKEN + LOADED) == "h2.connection hpack mediator.wire_h2"


def test_it_is_spoken_by_mitmproxys_classes_under_ours() -> None:
    ours = "print(h2.is_agent_side(made), h2.is_server_side(made), h2.is_agent_side(None))\n"
    above = "print([one.__name__ for one in kind.__mro__ if one.__module__.endswith('_http2')])"
    assert said(PREPARED + SPOKEN + ours + above) == "True False False\n['Http2Server', 'Http2Connection']"


def test_before_it_is_loaded_nobody_speaks_it() -> None:
    code = "from mediator import h2\nprint(h2.is_agent_side(object()), h2.is_server_side(object()))\n"
    assert said(PREPARED + code + LOADED) == "False False"


@pytest.mark.parametrize("name", ["Http2Server", "Http2Client"])
def test_a_way_around_ours_into_it_fails(name: str) -> None:
    tried = f"from mitmproxy.proxy.layers import http\ntry:\n    http.{name}(None)\n"
    told = said(PREPARED + tried + "except RuntimeError as error:\n    print(error)")
    assert told == f"{name} is no part of hark"
