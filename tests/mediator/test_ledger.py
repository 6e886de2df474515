"""The ledger: attempts before decisions, denials on disk, floods ended in words, tables bounded."""

import asyncio
import threading

import pytest

from hark.bundle.events import DnsDecision, DnsQuery, EgressAttempt, EgressDecision, LlmResponseEnd
from hark.errors import LimitError, RecordError
from hark.policy.decide import Allow, Deny
from mediator import ledger
from mediator.authority import Destination
from mediator.credentials import Injection
from mediator.ledger import Denied, Ledger, text_map
from tests.fakes.recorder import ListRecorder

API = Destination("api.example.test", 443)
DENY = Deny("host api.example.test is not in allow_hosts", "api.example.test")


class Clock:
    """A clock that stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def made(recorder: ListRecorder | None = None) -> tuple[Ledger, ListRecorder, list[str], Clock]:
    recorder = recorder or ListRecorder()
    fatal: list[str] = []
    clock = Clock()
    return Ledger(recorder, fatal.append, clock), recorder, fatal, clock


def test_an_attempt_is_recorded_before_its_decision_and_a_denial_is_on_the_disk_once_settled() -> None:
    book, recorder, _, _ = made()
    book.attempt(API, "tls", "api.example.test", DENY)
    book.attempt(API, "tls", "", Allow("allow_hosts: api.example.test"))
    denied = EgressDecision(host=API.host, allowed=False, reason=DENY.reason)
    assert recorder.events == [
        EgressAttempt(host=API.host, port=443, protocol="tls", sni="api.example.test"),
        denied,
        EgressAttempt(host=API.host, port=443, protocol="tls"),
        EgressDecision(host=API.host, allowed=True, rule="allow_hosts: api.example.test"),
    ]
    assert recorder.durable == []
    asyncio.run(book.settled())
    assert denied in recorder.durable
    book.close()


def test_a_sync_that_fails_ends_the_run_and_whoever_waits_for_it() -> None:
    class Broken(ListRecorder):
        def sync(self, seq: int) -> None:
            raise RecordError("Input/output error")

    book, _, fatal, _ = made(Broken())
    book.attempt(API, "tls", "", DENY)
    with pytest.raises(RecordError, match="Input/output"):
        asyncio.run(book.settled())
    assert fatal == ["a denial could not be recorded for good: Input/output error"]
    with pytest.raises(RecordError, match="nothing is recorded"):
        book.attempt(API, "tls", "", DENY)
    book.close()


def test_a_dns_denial_is_recorded_and_counted() -> None:
    book, recorder, _, _ = made()
    book.query("evil.test", "A", 1)
    book.answered("evil.test", Deny("no", "evil.test"), "")
    book.answered("api.test", Allow("rule"), "198.18.0.1")
    assert [type(event) for event in recorder.events] == [DnsQuery, DnsDecision, DnsDecision]
    assert book.summary().denied == (Denied("evil.test", 0, "dns", 1, "evil.test", "no"),)


def test_repeats_are_counted_once_and_recorded_each_time() -> None:
    book, recorder, _, _ = made()
    for _ in range(3):
        book.attempt(API, "tls", "", DENY)
    assert book.summary().denied == (Denied(API.host, 443, "tls", 3, "api.example.test", DENY.reason),)
    assert len(recorder.events) == 6


def test_a_fork_counts_what_is_denied_where_it_is_live() -> None:
    book, _, _, _ = made()
    book.attempt(API, "tls", "", DENY)
    book.begin_anew()
    assert book.summary().denied == ()
    book.attempt(API, "tls", "", DENY)
    assert [one.count for one in book.summary().denied] == [1]
    book.close()


def test_a_flood_of_names_grows_the_record_and_not_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_SUMMARY", 5)
    book, recorder, _, _ = made()
    for number in range(12):
        book.answered(f"x{number}.evil.test", Deny("no", ""), "")
    summary = book.summary()
    assert len(summary.denied) == 5
    assert summary.denied_uncounted == 7
    assert len(recorder.events) == 12


def test_a_flood_past_the_ceiling_ends_the_run_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_BURST", 10)
    monkeypatch.setattr(ledger, "MAX_ATTEMPTS_PER_SECOND", 2)
    book, recorder, fatal, clock = made()
    for _ in range(10):
        book.query("a.test", "A", 1)
    clock.now = 2.0
    for _ in range(4):
        book.query("a.test", "A", 1)
    assert fatal == []
    with pytest.raises(RecordError, match="more than 10 names, connections or packets at once"):
        book.query("a.test", "A", 1)
    assert len(fatal) == 1
    assert len(recorder.events) == 14


def test_a_recorder_that_fails_marks_the_run_once_and_nothing_is_recorded_after_it() -> None:
    book, recorder, fatal, _ = made(ListRecorder(fail_at=1))
    with pytest.raises(RecordError, match="no space left"):
        book.append(LlmResponseEnd())
    recorder.fail_at = None
    with pytest.raises(RecordError, match="nothing is recorded after a failure"):
        book.append(LlmResponseEnd())
    assert fatal == ["LlmResponseEnd could not be recorded: no space left on device"]
    assert recorder.events == []


def test_the_first_reason_is_the_one_that_counts() -> None:
    book, _, fatal, _ = made()
    book.fail("first")
    book.fail("second")
    assert (fatal, book.fatal) == (["first"], "first")


def test_exchange_numbers_are_never_given_twice_by_any_thread() -> None:
    book, _, _, _ = made()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.extend(book.next_exchange() for _ in range(500)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 2001))


def test_used_secrets_and_warnings_are_told_at_the_end() -> None:
    book, _, _, _ = made()
    for _ in range(2):
        book.injected(API, Injection("secrets.K", "sk-hark", b"h" * 32))
    book.warn("look")
    book.warn("look")
    assert book.summary().secrets == (("secrets.K", "api.example.test:443", 2),)
    assert book.summary().warnings == ("look",)


def test_headers_as_text_are_valid_whatever_they_hold() -> None:
    assert text_map(((b"A", b"\xff"), (b"a", b"2"), (b"A", b"3"))) == {"A": "3", "a": "2"}


def test_more_events_than_the_policy_allows_end_the_run_by_the_limits_name() -> None:
    recorder, clock = ListRecorder(), Clock()
    fatal: list[str] = []
    limits: list[str] = []
    book = Ledger(recorder, fatal.append, clock, events_per_s=5, on_limit=limits.append)
    for _ in range(50):
        book.append(LlmResponseEnd())
    clock.now = 2.0
    for _ in range(10):
        book.append(LlmResponseEnd())
    with pytest.raises(LimitError):
        book.append(LlmResponseEnd())
    with pytest.raises(RecordError, match="nothing is recorded after"):
        book.append(LlmResponseEnd())
    assert limits == ["limits.events_per_second was reached: more than 5 events a second over 10 seconds"]
    assert (fatal, len(recorder.events)) == ([], 60)


def test_a_full_record_is_the_limits_doing_and_not_the_recorders() -> None:
    class Full(ListRecorder):
        def append(self, event: object, *, durable: bool = False) -> int:
            raise LimitError("record.max_bytes was reached: no more")

    fatal: list[str] = []
    limits: list[str] = []
    book = Ledger(Full(), fatal.append, Clock(), on_limit=limits.append)
    with pytest.raises(LimitError):
        book.append(LlmResponseEnd())
    assert (fatal, limits) == ([], ["record.max_bytes was reached: no more"])
