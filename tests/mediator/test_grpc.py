"""gRPC as its own library speaks it, both sides over real TLS: the four kinds of call, and how they end."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from hark.bundle.events import LlmRequest, LlmResponseEnd, SecretInjected, Trailers
from tests.fakes.upstream import certified_pem
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, running, secret

SERVICE = "hark.test.Calls"
UNLIMITED = (("grpc.max_receive_message_length", -1),)


class Calls(grpc.GenericRpcHandler):
    """A service whose messages are bytes."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, str]] = []
        self.cancelled = threading.Event()

    def service(self, details: Any) -> Any:
        """Return the handler of a method."""
        self.metadata.append(dict(details.invocation_metadata))
        return {
            "Unary": grpc.unary_unary_rpc_method_handler(self._unary),
            "Down": grpc.unary_stream_rpc_method_handler(self._down),
            "Up": grpc.stream_unary_rpc_method_handler(self._up),
            "Both": grpc.stream_stream_rpc_method_handler(self._both),
            "Fail": grpc.unary_unary_rpc_method_handler(self._fail),
            "Wait": grpc.unary_stream_rpc_method_handler(self._wait),
        }.get(details.method.rpartition("/")[2])

    def _unary(self, request: bytes, context: Any) -> bytes:
        context.set_trailing_metadata((("x-sum", str(len(request))),))
        return request[::-1]

    def _down(self, request: bytes, _context: Any) -> Iterator[bytes]:
        for number in range(int(request)):
            yield b"%d" % number

    def _up(self, requests: Iterator[bytes], _context: Any) -> bytes:
        return b"+".join(requests)

    def _both(self, requests: Iterator[bytes], _context: Any) -> Iterator[bytes]:
        for request in requests:
            yield request.upper()

    def _fail(self, _request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not today, ü")
        return b""

    def _wait(self, _request: bytes, context: Any) -> Iterator[bytes]:
        context.add_callback(self.cancelled.set)
        yield b"first"
        self.cancelled.wait(60)


def channel_to(rig: Rig) -> grpc.Channel:
    """Return a client's channel through a mediator."""
    rig.origins.default = (rig.address(API), 443)
    credentials = grpc.ssl_channel_credentials(rig.ca.trust_bundle(b""))
    options = (("grpc.ssl_target_name_override", API), ("grpc.default_authority", API), *UNLIMITED)
    return grpc.secure_channel(f"127.0.0.1:{rig.tcp[1]}", credentials, options)


@contextmanager
def calling(**more: Any) -> Iterator[tuple[Rig, Calls, grpc.Channel]]:
    """A mediator between a gRPC client and server."""
    ca_pem, key, chain = certified_pem((API,))
    calls = Calls()
    server = grpc.server(ThreadPoolExecutor(16), options=UNLIMITED)
    server.add_generic_rpc_handlers((calls,))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)]))
    server.start()
    try:
        with running(API, upstreams={API: f"127.0.0.1:{port}"}, roots=ca_pem, **more) as rig:
            with channel_to(rig) as channel:
                yield rig, calls, channel
            assert rig.fatal == []
    finally:
        server.stop(0).wait()


def test_a_call_of_one_message_each_way_passes_with_its_trailers() -> None:
    with calling() as (rig, calls, channel):
        answer, call = channel.unary_unary(f"/{SERVICE}/Unary").with_call(
            b"hello", metadata=(("x-mine", "1"),), timeout=60
        )
        assert answer == b"olleh"
        assert ("x-sum", "5") in call.trailing_metadata()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        (request,) = rig.recorder.of(LlmRequest)
        (trailers,) = rig.recorder.of(Trailers)
    assert calls.metadata[0]["x-mine"] == "1"
    assert (request.method, request.path, end.status) == ("POST", f"/{SERVICE}/Unary", 200)
    assert trailers.headers["grpc-status"] == "0"
    assert not trailers.from_agent


def test_a_stream_of_answers_passes() -> None:
    with calling() as (_, _, channel):
        got = list(channel.unary_stream(f"/{SERVICE}/Down")(b"500", timeout=60))
    assert got == [b"%d" % number for number in range(500)]


def test_a_stream_of_requests_passes() -> None:
    with calling() as (_, _, channel):
        sent = [b"%d" % number for number in range(500)]
        assert channel.stream_unary(f"/{SERVICE}/Up")(iter(sent), timeout=60) == b"+".join(sent)


def test_streams_both_ways_pass_message_by_message() -> None:
    """Each message waits for the answer to the one before it."""
    with calling() as (_, _, channel):
        turn = threading.Semaphore(1)

        def messages() -> Iterator[bytes]:
            for number in range(50):
                assert turn.acquire(timeout=60)
                yield b"m%d" % number

        got = []
        for answer in channel.stream_stream(f"/{SERVICE}/Both")(messages(), timeout=60):
            got.append(answer)
            turn.release()
    assert got == [b"M%d" % number for number in range(50)]


def test_an_error_comes_with_its_status_and_words() -> None:
    with calling() as (_, _, channel):
        with pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(f"/{SERVICE}/Fail")(b"", timeout=60)
        error: Any = failed.value
        assert (error.code(), error.details()) == (grpc.StatusCode.FAILED_PRECONDITION, "not today, ü")


def test_an_unknown_method_is_unimplemented() -> None:
    with calling() as (_, _, channel):
        with pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(f"/{SERVICE}/Nothing")(b"", timeout=60)
        error: Any = failed.value
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED


def begun(calls: Calls, channel: Any, seconds: int) -> Any:
    """Begin a call that waits, with a longer deadline where no first answer comes within this one."""
    call = channel.unary_stream(f"/{SERVICE}/Wait")(b"", timeout=seconds)
    try:
        assert next(call) == b"first"
    except grpc.RpcError:
        if seconds > 60:
            raise
        calls.cancelled.wait(seconds)
        calls.cancelled.clear()
        return begun(calls, channel, seconds * 4)
    return call


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_a_call_that_is_given_up_ends_at_the_server_too(how: str) -> None:
    with calling() as (rig, calls, channel):
        call = begun(calls, channel, 60 if how == "cancel" else 1)
        if how == "cancel":
            call.cancel()
        with pytest.raises(grpc.RpcError):
            next(call)
        assert calls.cancelled.wait(60)
        end = rig.recorder.wait_for(LlmResponseEnd)[-1]
    # A server minds the deadline too, and its own end of the call may come first.
    assert end.error != "" or how == "deadline"


def test_large_messages_and_many_calls_at_once_pass() -> None:
    large = bytes(range(256)) * (16 << 10)
    with calling() as (rig, _, channel):
        call = channel.unary_unary(f"/{SERVICE}/Unary")
        assert call(large, timeout=60) == large[::-1]
        futures = [call.future(b"%d" % number, timeout=60) for number in range(100)]
        assert [future.result() for future in futures] == [(b"%d" % n)[::-1] for n in range(100)]
        rig.recorder.wait_for(LlmResponseEnd, 101)


def test_a_call_credential_is_replaced() -> None:
    with calling(secrets=(secret(VALUE, API),)) as (rig, calls, channel):
        bearer = (("authorization", f"Bearer {PLACEHOLDER}"),)
        assert channel.unary_unary(f"/{SERVICE}/Unary")(b"x", metadata=bearer, timeout=60) == b"x"
        rig.recorder.wait_for(LlmResponseEnd)
        assert len(rig.recorder.of(SecretInjected)) == 1
    assert calls.metadata[0]["authorization"] == f"Bearer {VALUE}"


class Packing(Calls):
    """Gives back what it was called with, each message packed."""

    def _unary(self, request: bytes, context: Any) -> bytes:
        context.set_compression(grpc.Compression.Gzip)
        return b"x" * 500 + dict(context.invocation_metadata()).get("authorization", "").encode()


@pytest.mark.parametrize("held", [True, False])
def test_a_packed_message_does_not_bring_a_credential_back(
    held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control holds no credential: what is packed passes, so it would have come."""
    monkeypatch.setattr(f"{__name__}.Calls", Packing)
    sent = PLACEHOLDER if held else VALUE
    with calling(secrets=(secret(VALUE, API),) if held else ()) as (_, _, channel):
        call = channel.unary_unary(f"/{SERVICE}/Unary")
        if held:
            with pytest.raises(grpc.RpcError):
                call(b"hi", metadata=(("authorization", sent),), timeout=60)
        else:
            assert call(b"hi", metadata=(("authorization", sent),), timeout=60).endswith(VALUE.encode())
