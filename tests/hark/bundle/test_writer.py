import asyncio
import errno
import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from hark.bundle.events import EgressDecision, Input, LlmResponseChunk, RunEnd, RunStart, decode
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import LimitError, RecordError
from hark.verify import TRUNCATED, VERIFIED, verify
from tests.hark.bundle.bundles import EVENTS, HEADER, KEY, ticking


def recorded(path):
    with BundleFile(str(path)) as file:
        return [decode(placed.frame.kind, placed.frame.payload) for placed in file.frames()]


def test_a_sealed_bundle_holds_every_event_in_order_and_verifies(tmp_path):
    path = str(tmp_path / "b")
    with Writer.create(path, HEADER) as writer:
        assert [writer.append(event) for event in EVENTS] == list(range(len(EVENTS)))
        sealed = writer.seal("exit", KEY)
    found = recorded(path)
    assert found[1:-1] == list(EVENTS[1:])
    result = verify(path, [KEY.public_key])
    assert (result.verdict, result.events, result.root) == (VERIFIED, sealed.leaf_count, sealed.root)


def test_a_second_writer_on_the_same_file_is_refused(tmp_path):
    path = str(tmp_path / "b")
    with Writer.create(path, HEADER) as writer:
        writer.append(EVENTS[0])
        with pytest.raises(RecordError, match="File exists"):
            Writer.create(path, HEADER)
        writer.append(EVENTS[1])
    assert len(recorded(path)) == 2


@pytest.mark.parametrize("name", ["missing/b", "n" * 300])
def test_a_file_that_cannot_be_created_is_refused_in_words(tmp_path, name):
    with pytest.raises(RecordError, match="cannot create the bundle"):
        Writer.create(f"{tmp_path}/{name}", HEADER)


def test_many_threads_get_one_order_without_gaps_and_every_event_is_there(tmp_path):
    path = str(tmp_path / "b")
    seqs = {}
    with Writer.create(path, HEADER) as writer:

        def work(thread):
            for index in range(60):
                durable = index % 20 == 0
                seqs[thread, index] = writer.append(
                    LlmResponseChunk(seq=index, exchange=thread), durable=durable
                )

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.seal("exit")
    assert sorted(seqs.values()) == list(range(480))
    found = recorded(path)
    assert all((found[seq].exchange, found[seq].seq) == where for where, seq in seqs.items())
    assert verify(path).verdict == VERIFIED


def test_tasks_of_an_event_loop_append_in_the_order_in_which_they_run(tmp_path):
    path = str(tmp_path / "b")

    async def run(writer):
        async def work(task):
            for index in range(10):
                writer.append(LlmResponseChunk(seq=index, exchange=task))
                await asyncio.sleep(0)

        await asyncio.gather(*map(work, range(5)))

    with Writer.create(path, HEADER) as writer:
        asyncio.run(run(writer))
    assert [(one.seq, one.exchange) for one in recorded(path)] == [
        (i, t) for i in range(10) for t in range(5)
    ]


def test_appends_that_wait_for_a_write_share_the_next_one(tmp_path, monkeypatch):
    real, entered, go, sizes = os.write, threading.Event(), threading.Event(), []

    def slow(fd, data):
        sizes.append(len(data))
        if len(sizes) == 1:
            entered.set()
            assert go.wait(60)
        return real(fd, data)

    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        monkeypatch.setattr(os, "write", slow)
        threads = [threading.Thread(target=writer.append, args=(EVENTS[4],)) for _ in range(5)]
        threads[0].start()
        assert entered.wait(60)
        for thread in threads[1:]:
            thread.start()
        while len(writer._queue) < 4:
            threading.Event().wait(0.001)
        go.set()
        for thread in threads:
            thread.join()
    assert sizes == [sizes[0], 4 * sizes[0]]


def test_a_durable_append_is_on_the_disk_when_it_returns_and_another_is_not_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        writer.append(EVENTS[0])
        assert synced == []
        writer.append(EgressDecision(host="evil.example"), durable=True)
        assert len(synced) == 2  # the file, and once its directory
        writer.append(EgressDecision(host="evil.example"), durable=True)
        assert len(synced) == 3
        writer.seal("exit")
        assert len(synced) == 5


def test_what_the_guard_stops_is_not_in_the_file_and_the_run_can_still_be_sealed(tmp_path):
    class LeakError(Exception):
        pass

    def guard(payload):
        if b"hunter2" in payload:
            raise LeakError

    with Writer.create(str(tmp_path / "b"), HEADER, guard=guard) as writer:
        writer.append(EVENTS[0])
        with pytest.raises(LeakError):
            writer.append(Input("stdin", b"my hunter2"))
        assert (writer.refused, writer.failure) == (1, None)
        assert writer.append(EVENTS[4]) == 1
        writer.seal("recorder-failed")
    assert b"hunter2" not in (tmp_path / "b").read_bytes()
    assert verify(str(tmp_path / "b")).verdict == VERIFIED


def test_an_event_over_64_mib_is_refused_before_a_byte_of_it_is_written(tmp_path):
    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        size = os.path.getsize(tmp_path / "b")
        with pytest.raises(RecordError, match="larger than format 1 allows"):
            writer.append(Input("stdin", bytes(64 << 20)))
        assert os.path.getsize(tmp_path / "b") == size


def test_nothing_follows_the_seal_or_the_close(tmp_path):
    writer = Writer.create(str(tmp_path / "b"), HEADER)
    writer.append(EVENTS[0])
    writer.seal("exit")
    for late in (lambda: writer.append(EVENTS[1]), lambda: writer.seal("exit")):
        with pytest.raises(RecordError, match="is sealed"):
            late()
    writer.close()
    writer.close()
    assert verify(str(tmp_path / "b")).verdict == VERIFIED
    other = Writer.create(str(tmp_path / "c"), HEADER)
    other.close()
    with pytest.raises(RecordError, match="is closed"):
        other.append(EVENTS[0])


def test_closing_without_seal_leaves_a_prefix_that_verifies(tmp_path):
    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        writer.append(EVENTS[0])
        writer.append(EVENTS[1])
    result = verify(str(tmp_path / "b"))
    assert (result.verdict, result.events, result.trailing) == (TRUNCATED, 2, 0)


def test_a_signer_that_fails_leaves_an_unsealed_bundle(tmp_path):
    class Broken:
        public_key = bytes(32)

        def sign(self, message):
            raise OSError(5, "the token is gone")

    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        writer.append(EVENTS[0])
        with pytest.raises(OSError, match="token"):
            writer.seal("exit", Broken())
    assert verify(str(tmp_path / "b")).verdict == TRUNCATED


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMFILE], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("torn", [0, 1, 60])
@pytest.mark.parametrize("nth", range(6))
def test_every_nth_write_that_fails_ends_the_writer_and_leaves_a_prefix(
    tmp_path, monkeypatch, number, call, torn, nth
):
    real, calls = getattr(os, call), []

    def failing(fd, *data):
        calls.append(fd)
        if len(calls) <= nth:
            return real(fd, *data)
        if data and torn and len(calls) == nth + 1:
            return real(fd, data[0][:torn])  # and the rest fails
        raise OSError(number, os.strerror(number))

    told, acknowledged = [], []
    writer = Writer.create(str(tmp_path / "b"), HEADER, on_failure=told.append)
    monkeypatch.setattr(os, call, failing)

    def run():
        for event in EVENTS:
            seq = writer.append(event, durable=True)
            acknowledged.append(seq)
        writer.seal("exit", KEY)

    with pytest.raises(RecordError, match=os.strerror(number)):
        run()
    for _ in range(2):
        with pytest.raises(RecordError, match=os.strerror(number)):
            writer.append(EVENTS[1])
    assert len(told) == 1
    assert ("make room there, or have XDG_STATE_HOME" in str(told[0])) == (number == errno.ENOSPC)
    assert told == [writer.failure]
    monkeypatch.undo()
    writer.close()
    result = verify(str(tmp_path / "b"))
    assert result.verdict == TRUNCATED or call == "fsync"
    assert result.exit_code in {0, 3}
    assert result.events >= len(acknowledged)
    assert result.trailing == 0


def test_a_torn_frame_that_cannot_be_cut_off_is_recognised_as_torn(tmp_path, monkeypatch):
    real = os.write
    writer = Writer.create(str(tmp_path / "b"), HEADER)
    writer.append(EVENTS[0])
    pieces = iter([10])

    def failing(fd, data):
        for piece in pieces:
            return real(fd, data[:piece])
        raise OSError(errno.EIO, "Input/output error")

    def no_cut(fd, size):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", failing)
    monkeypatch.setattr(os, "ftruncate", no_cut)
    with pytest.raises(RecordError):
        writer.append(EVENTS[1])
    writer.close()
    result = verify(str(tmp_path / "b"))
    assert (result.verdict, result.events, result.trailing) == (TRUNCATED, 1, 10)


def test_every_thread_that_waits_learns_of_a_failure(tmp_path, monkeypatch):
    entered, go, errors = threading.Event(), threading.Event(), []

    def failing(fd, data):
        entered.set()
        assert go.wait(60)
        raise OSError(errno.EIO, "Input/output error")

    def work():
        try:
            writer.append(EVENTS[1])
        except RecordError as error:
            errors.append(error)

    writer = Writer.create(str(tmp_path / "b"), HEADER)
    writer.append(EVENTS[0])
    monkeypatch.setattr(os, "write", failing)
    threads = [threading.Thread(target=work) for _ in range(6)]
    threads[0].start()
    assert entered.wait(60)
    for thread in threads[1:]:
        thread.start()
    while len(writer._queue) < 5:
        threading.Event().wait(0.001)
    go.set()
    for thread in threads:
        thread.join()
    writer.close()
    assert len(errors) == 6
    assert verify(str(tmp_path / "b")).events == 1


def test_a_full_disk_ends_the_run_and_leaves_a_prefix(tmp_path):
    """A real one: a file system of 64 KiB, in a mount namespace of its own."""
    script = """
import sys
from hark.bundle.events import LlmResponseChunk, RunStart
from hark.bundle.header import Header
from hark.bundle.writer import Writer
from hark.errors import LimitError, RecordError
from hark.verify import verify

path = sys.argv[1] + "/b"
writer = Writer.create(path, Header(run_id="R"))
count = 0
try:
    writer.append(RunStart(run_id="R"))
    while True:
        count = writer.append(LlmResponseChunk(data=bytes(5000))) + 1
except RecordError as error:
    writer.close()
    result = verify(path)
    print(error, result.verdict, result.events == count, result.trailing, count > 5)
"""
    command = 'mount -t tmpfs -o size=64k tmpfs "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-ec", command, "sh", str(tmp_path), sys.executable, script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said, _, found = done.stdout.partition("; make room there, or have XDG_STATE_HOME name ")
    assert said.endswith("No space left on device; the run cannot go on unrecorded"), done.stderr
    assert found == "a directory that has it TRUNCATED True 0 True\n"


KILLED = """
import sys
from hark.bundle.events import EgressDecision, LlmResponseChunk, RunStart
from hark.bundle.header import Header
from hark.bundle.writer import Writer

for path in sys.stdin:
    writer = Writer.create(path.strip(), Header(run_id="R"))
    out = sys.stdout.buffer
    out.write(b"%d\\n" % writer.append(RunStart(run_id="R")))
    out.flush()
    for index in range(100_000):
        out.write(b"%d\\n" % writer.append(LlmResponseChunk(seq=index, data=bytes(index * 37 % 3000))))
        out.flush()
"""


def kill_at_a_random_moment(path, moment):
    """Kill a writer that far into its work; returns the last sequence number that it had acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(f"{path}\n".encode())
        process.stdin.flush()
        acknowledged = process.stdout.readline()
        timer = threading.Timer(moment, process.send_signal, [signal.SIGKILL])
        timer.start()
        for line in process.stdout:
            if line.endswith(b"\n"):
                acknowledged = line
        timer.join()
    return int(acknowledged)


@pytest.mark.slow
def test_a_writer_killed_at_200_random_moments_loses_nothing_that_it_acknowledged(tmp_path):
    moments = random.Random(7)
    for number in range(200):
        path = tmp_path / str(number)
        acknowledged = kill_at_a_random_moment(path, moments.uniform(0, 0.05))
        result = verify(str(path))
        assert result.verdict == TRUNCATED
        assert result.events > acknowledged
        path.unlink()


def test_frame_times_follow_the_given_clock_from_the_start_of_the_run(tmp_path):
    with Writer.create(str(tmp_path / "b"), HEADER, clock=ticking(1000)) as writer:
        writer.append(RunStart(run_id="R"))
        writer.append(EVENTS[4])
    with BundleFile(str(tmp_path / "b")) as file:
        assert [placed.frame.time for placed in file.frames()] == [1000, 2000]


@pytest.mark.parametrize("size", [0, 100, 5000, 70_000])
def test_a_bundle_stays_within_its_largest_size_and_is_sealed_with_what_came_before(tmp_path, size):
    told, path = [], tmp_path / "b"
    with Writer.create(str(path), HEADER, max_bytes=100_000, on_failure=told.append) as writer:
        count = writer.append(EVENTS[0]) + 1

        def fill():
            nonlocal count
            while True:
                count = writer.append(LlmResponseChunk(data=bytes(size))) + 1

        with pytest.raises(LimitError, match=r"record\.max_bytes was reached: .* beyond 100000 bytes"):
            fill()
        for event in (EVENTS[1], LlmResponseChunk()):
            with pytest.raises(LimitError):
                writer.append(event)
        assert [type(error) for error in told] == [LimitError]
        assert (writer.failure, writer.refused) == (None, 0)
        writer.append(RunEnd(reason="interrupted: " + "x" * 4096, exit_code=124))
        writer.seal("interrupted: " + "x" * 4096, KEY)
    assert path.stat().st_size <= 100_000
    result = verify(str(path), [KEY.public_key])
    assert (result.verdict, result.events) == (VERIFIED, count + 2)


def test_without_a_largest_size_the_same_bundle_grows_beyond_it(tmp_path):
    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        for _ in range(3):
            writer.append(LlmResponseChunk(data=bytes(70_000)))
    assert (tmp_path / "b").stat().st_size > 200_000


def test_a_largest_size_without_room_for_the_end_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(RecordError, match=r"record\.max_bytes is 5000"):
        Writer.create(str(tmp_path / "b"), HEADER, max_bytes=5000)
    assert not (tmp_path / "b").exists()


def test_who_appends_does_not_wait_while_others_sync(tmp_path, monkeypatch):
    entered, go, synced = threading.Event(), threading.Event(), []

    def slow(fd):
        entered.set()
        assert go.wait(60)
        synced.append(fd)

    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        seq = writer.append(EVENTS[0])
        monkeypatch.setattr(os, "fsync", slow)
        thread = threading.Thread(target=writer.sync, args=(seq,))
        thread.start()
        assert entered.wait(60)
        for event in EVENTS[1:]:
            writer.append(event)
        assert len(recorded(tmp_path / "b")) == len(EVENTS)
        assert synced == []
        go.set()
        thread.join()
        assert writer._synced == 1
        count = len(synced)
        writer.sync(seq)
        assert len(synced) == count  # it is there


def test_those_who_sync_while_another_does_share_the_next(tmp_path, monkeypatch):
    entered, go, calls = threading.Event(), threading.Event(), []

    def slow(fd):
        calls.append(fd)
        entered.set()
        assert go.wait(60)

    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        writer.append(EVENTS[0], durable=True)
        monkeypatch.setattr(os, "fsync", slow)
        threads = []
        for event in EVENTS[1:]:
            seq = writer.append(event)
            threads.append(threading.Thread(target=writer.sync, args=(seq,)))
            threads[-1].start()
            assert entered.wait(60)
        go.set()
        for thread in threads:
            thread.join()
        assert len(calls) == 2
