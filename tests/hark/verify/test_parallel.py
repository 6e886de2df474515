import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hark.bundle.hashing import ZERO_HASH
from hark.bundle.redact import redact
from hark.bundle.synth import corrupt, synthesize
from hark.bundle.walk import BundleFile
from hark.verify import parallel, verify
from hark.verify.facts import LARGE, _workers_for
from hark.verify.parallel import Pool, forked
from hark.verify.scan import BLOCK, Scan
from tests.hark.bundle.bundles import KEY
from tests.support.apart import in_a_copy

EVENTS = 5 * BLOCK + 17


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "b"
    synthesize(str(path), EVENTS, 60, KEY)
    return path


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr("hark.verify.facts.SEGMENT_BYTES", 1)


@pytest.mark.parametrize("workers", [1, 3])
def test_several_processes_come_to_the_same_result_as_one(large, workers):
    assert verify(str(large), workers=workers) == verify(str(large), workers=0)


@pytest.mark.parametrize("seq", [0, BLOCK - 1, BLOCK, 3 * BLOCK + 5, EVENTS - 1])
def test_a_fault_in_any_segment_is_named_alike(tmp_path, large, seq):
    path = tmp_path / "b"
    path.write_bytes(large.read_bytes())
    corrupt(str(path), seq)
    alone, together = verify(str(path), workers=0), verify(str(path), workers=2)
    assert alone.findings[0].seq == seq
    assert together.findings == alone.findings
    assert together.line() == alone.line()


@pytest.mark.parametrize("index", [1, BLOCK, 2 * BLOCK, 2 * BLOCK + 1])
def test_a_splice_at_any_place_is_named_alike(tmp_path, large, index):
    """Two neighbours change places: at the border of segments nobody but the joiner can see it."""
    with BundleFile(str(large)) as file:
        placed = [one for _, one in zip(range(index + 2), file.frames(), strict=False)][-2:]
    data = large.read_bytes()
    first, second = (data[one.offset : one.offset + one.frame.size] for one in placed)
    at = placed[0].offset
    path = tmp_path / "b"
    path.write_bytes(data[:at] + second + first + data[at + len(first) + len(second) :])
    alone, together = verify(str(path), workers=0), verify(str(path), workers=2)
    assert (alone.findings[0].seq, alone.findings[0].nature) == (index, "splice")
    assert together.findings == alone.findings


def test_redacted_events_in_any_segment_are_found(tmp_path, large):
    redact(str(large), [5, BLOCK, EVENTS - 2], str(tmp_path / "b"))
    alone = verify(str(tmp_path / "b"), workers=0)
    assert alone.redacted == (5, BLOCK, EVENTS - 2)
    assert verify(str(tmp_path / "b"), workers=2) == alone


def test_what_a_worker_that_died_did_not_answer_is_scanned_here(large, monkeypatch):
    parent, real = os.getpid(), Pool._scan

    def dying(self, task):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, task)

    expected = verify(str(large), workers=0)
    monkeypatch.setattr(Pool, "_scan", dying)
    assert verify(str(large), workers=2) == expected


def test_tasks_that_do_not_fit_into_the_pipe_are_done_all_the_same(large, monkeypatch):
    monkeypatch.setattr(Pool, "_scan", lambda self, task: Scan(task.seq, ZERO_HASH))
    with BundleFile(str(large)) as file:
        pool = Pool(file, 0)
        for seq in range(3000):
            pool.submit(0, seq, 1, ZERO_HASH)
        assert len(pool._left) > 0
        assert [task.seq for task, _ in pool.results()] == list(range(3000))


def test_small_files_and_processes_with_threads_fork_nothing(large, monkeypatch):
    with BundleFile(str(large)) as file:
        assert file.size < LARGE
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
        monkeypatch.setattr(os, "listdir", lambda path: ["1"])
        assert _workers_for(file) == 0
        monkeypatch.setattr("hark.verify.facts.LARGE", 1)
        assert _workers_for(file) == parallel.MAX_WORKERS
        monkeypatch.setattr(os, "listdir", lambda path: ["1", "2"])
        assert _workers_for(file) == 0


def test_no_process_and_no_descriptor_is_left_behind(large):
    def check():
        before = sorted(os.listdir("/proc/self/fd"))
        verify(str(large), workers=2)
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert children_of_this_process() == set()

    in_a_copy(check)


def children_of_this_process() -> set[str]:
    """Return their numbers, those that nobody has waited for included."""
    files = Path("/proc/self/task").glob("*/children")
    return {number for file in files for number in file.read_text().split()}


def test_a_child_that_is_left_is_seen():
    before = children_of_this_process()
    child = os.fork() or os._exit(0)
    assert children_of_this_process() - before == {str(child)}  # ended or not: a zombie counts
    os.waitpid(child, 0)
    assert str(child) not in children_of_this_process()


REFUSING = """
import os, resource, sys
from hark.verify import verify
from hark.verify import facts, parallel
folder, path, what, number = sys.argv[1:]
os.chdir(folder)  # another user may not come to it by its path
facts.SEGMENT_BYTES = facts.LARGE = 1
os.sched_getaffinity = lambda pid: {0, 1, 2}
verify(path, workers=2)  # everything is imported
alone = verify(path, workers=0)
limit = getattr(resource, what)
resource.setrlimit(limit, (int(number), resource.getrlimit(limit)[1]))
if what == "RLIMIT_NPROC" and os.getuid() == 0:
    os.setuid(65534)  # no limit of this kind holds for root
try:
    os.fork() or os._exit(0)
    print("forked")
except OSError:
    print("refused")
print(verify(path) == alone)
"""


@pytest.mark.attack
@pytest.mark.parametrize(
    ("what", "number", "forked"),
    [("RLIMIT_NPROC", 0, "refused"), *(("RLIMIT_NOFILE", many, "forked") for many in range(4, 9))],
)
def test_where_the_system_gives_no_more_it_goes_on_alone(large, what, number, forked):
    for path in (large, large.parent):
        path.chmod(0o755)
    words = [sys.executable, "-c", REFUSING, str(large.parent), large.name, what, str(number)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [forked, "True"], done.stderr


@pytest.mark.parametrize("error", [None, SystemExit(0), ValueError("x")])
def test_a_forked_process_answers_and_leaves_whatever_it_ends_with(error):
    def work(out: int) -> None:
        os.write(out, b"answer")
        if error is not None:
            raise error

    pid, answers = forked(work)
    with os.fdopen(answers, "rb") as pipe:
        assert pipe.read() == b"answer"
    assert os.waitpid(pid, 0)[1] == 0
