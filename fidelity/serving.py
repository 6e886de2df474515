"""Servers for the shapes, made of the tests' fakes: each is `Served` and gone when its context ends."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fidelity.shape import Serve, Served
from tests.e2e.rig import Desk
from tests.fakes.upstream import Answer, Call, Upstream, serving


def routes(answers: Mapping[str, Answer], *hosts: str, tls: bool = True) -> Serve:
    """Serve `hosts` (api.example without any) over HTTP/1.1, each path by its function."""
    names = hosts or ("api.example",)

    @contextmanager
    def serve(_desk: Desk) -> Iterator[Served]:
        with serving(*names, tls=tls) as upstream:
            upstream.routes.update(answers)
            yield served(upstream, *names)

    return serve


def built(build: Callable[[Upstream], None], *hosts: str, tls: bool = True) -> Serve:
    """As `routes`, but `build` is given each fresh server: what it keeps count of begins anew with it."""
    names = hosts or ("api.example",)

    @contextmanager
    def serve(_desk: Desk) -> Iterator[Served]:
        with serving(*names, tls=tls) as upstream:
            build(upstream)
            yield served(upstream, *names)

    return serve


def served(upstream: Upstream, *hosts: str) -> Served:
    """One server under these names."""
    return Served(dict.fromkeys(hosts, upstream.address), upstream.ca_pem, upstream.seen)


@contextmanager
def nothing(_desk: Desk) -> Iterator[Served]:
    """No server at all."""
    yield Served({})


def say(call: Call, value: Any, status: int = 200, *headers: tuple[str, str]) -> None:
    """Answer in JSON."""
    call.reply(status, json.dumps(value).encode(), [("Content-Type", "application/json"), *headers])


def echo(call: Call) -> None:
    """Answer with what was sent, under `got`, and how long it was."""
    say(call, {"got": call.body.decode("utf-8", "replace")[:2000], "length": len(call.body)})


def later(seconds: float, answer: Answer) -> Answer:
    """The same answer, after a while."""

    def slow(call: Call) -> None:
        time.sleep(seconds)
        answer(call)

    return slow


def in_turn(*answers: Answer) -> Answer:
    """A different answer each time; the last one from then on."""
    left = list(answers)

    def answer(call: Call) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(call)

    return answer
