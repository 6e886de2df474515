"""Rejected packets leave one attempt and one denial for each target, and a bounded table."""

import os
import socket
import struct
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from hark.bundle.events import EgressAttempt, EgressDecision, ShimReport
from hark.describe import line
from hark.errors import RecordError
from mediator import watcher
from mediator.ledger import MAX_BURST, Ledger
from mediator.watcher import Watcher
from tests.fakes.recorder import ListRecorder
from tests.launcher.rig import apart
from tests.mediator.rig import API, running
from tests.support.user import ROOT


def udp(last: int, port: int = 443) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 0, 0, 0, 64, 17, 0) + bytes(4) + bytes((203, 0, 113, last))
    return bytes(12) + b"\x08\x00" + head + struct.pack("!HHHH", 4000, port, 8, 0)


def made(recorder: ListRecorder) -> tuple[Watcher, Ledger]:
    book = Ledger(recorder, lambda _: None, lambda: 0.0)
    return Watcher(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), book), book


def test_a_target_is_recorded_once_however_often_it_is_tried() -> None:
    recorder = ListRecorder()
    looking, _ = made(recorder)
    for frame in (udp(1), udp(1), udp(2), udp(1, 444), udp(1, 53)):
        looking.take(frame)
    assert [(event.host, event.port) for event in recorder.of(EgressAttempt)] == [
        ("203.0.113.1", 443),
        ("203.0.113.2", 443),
        ("203.0.113.1", 444),
    ]
    assert not any(event.allowed for event in recorder.of(EgressDecision))
    looking._packets.close()


def test_a_scan_of_addresses_is_bounded_and_its_extent_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MAX_TARGETS", 3)
    recorder = ListRecorder()
    looking, book = made(recorder)
    for last in range(10):
        looking.take(udp(last))
    looking.close()
    assert len(recorder.of(EgressAttempt)) == 3
    (report,) = recorder.of(ShimReport)
    assert (report.source, report.what) == ("the agent", "7 packets")
    assert line(report) == (
        "not recorded: 7 packets of the agent (rejected, and more than 3 different targets were tried)"
    )
    assert len(book.summary().warnings) == 1
    looking._packets.close()


def test_a_flood_of_packets_is_counted_and_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = ListRecorder()
    looking, book = made(recorder)
    flood = MAX_BURST + 100
    for number in range(flood):
        looking.take(udp(number % 256, 1000 + number // 256))
    monkeypatch.setattr(looking, "_dropped", lambda: 1)
    looking.close()
    assert book.fatal is None
    assert len(recorder.of(EgressAttempt)) == watcher.MAX_TARGETS
    beyond, lost = recorder.of(ShimReport)
    assert beyond.what == f"{flood - watcher.MAX_TARGETS} packets"
    assert line(lost) == (
        "not recorded: 1 packet of the agent "
        "(they came faster than they could be read; what had to be rejected was rejected)"
    )
    assert len(book.summary().warnings) == 2
    looking._packets.close()


def test_the_control_a_flood_of_names_ends_the_run() -> None:
    book = Ledger(ListRecorder(), lambda _: None, lambda: 0.0)
    for _ in range(MAX_BURST):
        book.query("a.test", "A", 1)
    with pytest.raises(RecordError, match="the agent made more than"):
        book.query("a.test", "A", 1)
    assert book.fatal is not None


@pytest.mark.attack
def test_what_the_socket_lost_is_counted_by_the_kernel() -> None:
    """On a loopback of its own: a packet socket of the smallest size, and more frames than it holds."""
    spec = spec_from_file_location("offline", ROOT / ".ci" / "offline.py")
    assert spec is not None
    assert spec.loader is not None
    offline = module_from_spec(spec)
    spec.loader.exec_module(offline)
    who = "root" if os.geteuid() == 0 else "ordinary user"
    (what,) = apart(lost_frames, who=who, change=offline.leave_the_network)
    assert int(what.split()[0]) > 100


def lost_frames() -> list[str]:
    """What the watcher reports as lost; run in a network namespace where it may open a packet socket."""
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as packets,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        packets.bind(("lo", 3))
        recorder = ListRecorder()
        looking = Watcher(packets, Ledger(recorder, lambda _: None, lambda: 0.0))
        for _ in range(200):
            sender.sendto(b"x" * 100, ("127.0.0.1", 9))
        looking.close()
    return [report.what for report in recorder.of(ShimReport)]


def test_packets_that_arrive_while_a_run_goes_on_are_recorded() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.sendto(udp(9), rig.packets[:2])
        (attempt,) = rig.recorder.wait_for(EgressAttempt)
        assert attempt == EgressAttempt(host="203.0.113.9", port=443, protocol="udp")
        assert rig.recorder.wait_for(EgressDecision)[0].reason.startswith("udp is not passed")


def test_packets_that_were_sent_just_before_the_end_are_recorded() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        rig.ask(API)
        for last in range(50):
            sender.sendto(udp(last), rig.packets[:2])
        rig.mediator.stop()
        assert len(rig.recorder.of(EgressAttempt)) == 50
