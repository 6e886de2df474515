"""Rejected packets leave one attempt and one denial for each target, and a bounded table."""

import socket
import struct
import time

import pytest

from hark.bundle.events import EgressAttempt, EgressDecision, ShimReport
from hark.describe import line
from mediator import watcher
from mediator.ledger import Ledger
from mediator.watcher import Watcher
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import API, running


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


def test_packets_that_arrive_while_a_run_goes_on_are_recorded() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.sendto(udp(9), rig.packets[:2])
        (attempt,) = rig.recorder.wait_for(EgressAttempt)
        assert attempt == EgressAttempt(host="203.0.113.9", port=443, protocol="udp")
        assert rig.recorder.wait_for(EgressDecision)[0].reason.startswith("udp is not passed")


def test_packets_that_were_sent_just_before_the_end_are_recorded() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        time.sleep(0.2)
        for last in range(50):
            sender.sendto(udp(last), rig.packets[:2])
        rig.mediator.stop()
        assert len(rig.recorder.of(EgressAttempt)) == 50
