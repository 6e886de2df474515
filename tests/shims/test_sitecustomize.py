"""The Python shim in real interpreters, each run twice: the same seed, the same draws, whoever is faster.

Here without a boundary, so that every interpreter that is installed can be tried: the page is a file of the
test's, and all processes have the same number. tests/shims/test_languages.py has it inside, with the preload.
"""

import glob
import os
import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from hark.repeatable.shim_library import source_folder

SEED = bytes(range(32))
SHIM = Path(source_folder(), "python", "sitecustomize.py")
NOTES_BYTES = 64 * 256


def interpreters() -> list[str]:
    """One path for each version that is found here, from 3.8 on."""
    versions = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions")
    on_path = [shutil.which(f"python3.{minor}") for minor in range(8, 16)]
    found = [sys.executable, shutil.which("python3", path="/usr/bin:/bin"), *on_path]
    found += sorted(glob.glob(f"{versions}/3.*/bin/python"))
    known: dict[str, str] = {}
    for path in filter(None, found):
        version = version_of(path)
        if version not in known and tuple(map(int, version.split(".") or [0])) >= (3, 8):
            known[version] = path
    return list(known.values())


@cache
def version_of(path: str) -> str:
    ended = subprocess.run(
        [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout.strip() or "0"


EVERY = pytest.mark.parametrize("python", interpreters(), ids=version_of)


class Place:
    """A folder with page, log and shim."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "python").mkdir(parents=True)
        text = SHIM.read_text()
        for there, here in (('"/run/hark/shim/"', f'"{folder}/"'), ("os.getpid()", "7")):
            assert text.count(there) == 1
            text = text.replace(there, here)
        (folder / "python" / "sitecustomize.py").write_text(text)
        (folder / "log").write_bytes(bytes(NOTES_BYTES))
        self.page(SEED)

    def page(self, seed: bytes, flags: int = 1) -> None:
        (self.folder / "page").write_bytes(
            (b"HARKPG1\0" + struct.pack("=QqII", 0, 0, flags, 0) + seed).ljust(4096, b"\0")
        )

    def run(
        self, program: str, *words: str, python: str = sys.executable, path: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "1", "LANG": "C.UTF-8"} | more
        env["PYTHONPATH"] = f"{self.folder}/python" + (f":{path}" if path else "")
        argv = [python, "-c", program, *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)

    def out(self, program: str, *words: str, python: str = sys.executable, **more: str) -> str:
        ended = self.run(program, *words, python=python, **more)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == ""
        return ended.stdout

    def notes(self) -> list[str]:
        data = (self.folder / "log").read_bytes()[-NOTES_BYTES:]
        parts = (data[at : at + 256].rstrip(b"\0").decode() for at in range(0, NOTES_BYTES, 256))
        return [part for part in parts if part]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "shim")


DRAWS = """
import os, random, secrets, ssl, tempfile, uuid
print(os.urandom(16).hex(), os.getrandom(8).hex(), os.urandom(100).hex())
print(uuid.uuid4(), uuid.uuid1().clock_seq, secrets.token_hex(9), secrets.randbelow(10**9))
print(random.random(), random.gauss(0, 1), random.sample(range(99), 9), random.getrandbits(70))
print(random.Random().random(), random.SystemRandom().random(), random.uniform(1, 2), random.choice("abcdef"))
print(tempfile.mktemp(), ssl.RAND_bytes(12).hex())
"""


@EVERY
def test_every_draw_is_the_seeds(place: Place, python: str) -> None:
    first = place.out(DRAWS, python=python)
    assert place.out(DRAWS, python=python) == first
    place.page(SEED[::-1])
    other = place.out(DRAWS, python=python)
    assert not set(first.split()) & set(other.split()) - {"[", "]"} - {
        word for word in first.split() if len(word) < 5
    }
    place.page(SEED, flags=2)
    assert place.out(DRAWS, python=python) != place.out(DRAWS, python=python)
    assert place.notes() == []


TASKS = """
import asyncio, random, sys, uuid
async def one(number, wait):
    await asyncio.sleep(wait)
    inner = await asyncio.gather(*(leaf(w) for w in ((0.002, 0) if wait > 0.01 else (0, 0.002))))
    return number, str(uuid.uuid4()), random.random(), inner
async def leaf(wait):
    await asyncio.sleep(wait)
    return uuid.uuid4().hex
async def main():
    waits = [(n * 7) % 50 / 1000 for n in range(50)]
    if sys.argv[1] == "back": waits.reverse()
    order = []
    async def noted(number, wait):
        found = await one(number, wait)
        order.append(number)
        return found
    print(sorted(await asyncio.gather(*(noted(*pair) for pair in enumerate(waits)))))
    print(order, file=open(sys.argv[2], "w"))
asyncio.run(main())
"""


@EVERY
def test_fifty_tasks_draw_the_same_in_whatever_order_they_go_on(
    place: Place, tmp_path: Path, python: str
) -> None:
    orders = [tmp_path / way for way in ("forth", "back")]
    outs = [place.out(TASKS, order.name, str(order), python=python) for order in orders]
    assert outs[0] == outs[1]
    assert orders[0].read_text() != orders[1].read_text()
    assert len(set(outs[0].split())) > 200


def test_without_keys_for_tasks_they_mix(place: Place, tmp_path: Path) -> None:
    """The control: the same draws, given to whoever comes first."""
    shim = place.folder / "python" / "sitecustomize.py"
    text = shim.read_text()
    assert text.count("loop_of is not None") == 1
    shim.write_text(text.replace("loop_of is not None", "False"))
    forth, back = (place.out(TASKS, way, str(tmp_path / way)) for way in ("forth", "back"))
    assert forth != back


THREADS = """
import random, sys, threading, time, uuid
from concurrent.futures import ThreadPoolExecutor
found = {}
def work(number):
    time.sleep((number if sys.argv[1] == "forth" else 8 - number) / 100)
    found[number] = uuid.uuid4().hex, random.random(), random.Random().random()
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found.items()))
def job(number):
    time.sleep((number % 3 if sys.argv[1] == "forth" else 2 - number % 3) / 100)
    return uuid.uuid4().hex, random.random()
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(job, range(20))))
print(random.random())
"""


@EVERY
def test_threads_and_what_a_pool_of_them_does_draw_by_who_started_them(place: Place, python: str) -> None:
    first = place.out(THREADS, "forth", python=python)
    assert place.out(THREADS, "back", python=python) == first
    place.page(SEED[::-1])
    assert place.out(THREADS, "forth", python=python) != first


FORKS = """
import os, random, sys, time
def child(number):
    pid = os.fork()
    if pid: return pid
    time.sleep((number if sys.argv[1] == "forth" else 4 - number) / 50)
    with open(sys.argv[2] + str(number), "w") as file: print(random.random(), os.urandom(8).hex(), file=file)
    os._exit(0)
before = random.random()
for pid in [child(number) for number in range(4)]: os.waitpid(pid, 0)
texts = [open(sys.argv[2] + str(number)).read() for number in range(4)]
assert len(set(texts)) == 4
print(texts, before, random.random())
"""


@EVERY
def test_forked_children_draw_apart_and_the_same_again(place: Place, tmp_path: Path, python: str) -> None:
    first = place.out(FORKS, "forth", f"{tmp_path}/a", python=python)
    assert place.out(FORKS, "back", f"{tmp_path}/b", python=python) == first


SEEDED = """
import random, threading
random.seed(5)
print(random.random(), random.randint(0, 99), random.gauss(0, 1), random.getrandbits(40))
print(random.shuffle(x := list(range(9))), x)
state = random.getstate()
print(random.random())
found = []
thread = threading.Thread(target=lambda: found.append(random.random()))
thread.start(); thread.join()
random.setstate(state)
print(random.random(), found)
print(random.Random(7).random(), random.Random("a").random())
"""


@EVERY
def test_a_generator_that_is_seeded_is_the_one_that_the_language_says(place: Place, python: str) -> None:
    shimmed = place.out(SEEDED, python=python)
    (place.folder / "page").unlink()
    assert place.out(SEEDED, python=python) == shimmed


KEPT = """
import os, pickle, random, uuid
class Holder:
    urandom, random, uniform = os.urandom, random.random, random.uniform
holder = Holder()
print(len(holder.urandom(5)), 0 <= holder.random() < 1, 1 <= holder.uniform(1, 2) <= 2)
for bad in (-1, "x", None, 1.5):
    for function in (os.urandom, os.getrandom):
        try: print(len(function(bad)))
        except Exception as error: print(type(error).__name__, error)
class Index:
    def __index__(self): return 3
print(len(os.urandom(Index())), os.urandom(0), os.urandom(True).__class__)
try: os.getrandom(5, 1 << 20)
except OSError as error: print(error.errno)
print(type(uuid.uuid1()).__name__, uuid.uuid1().version, uuid.uuid4().version, uuid.uuid1() != uuid.uuid1())
print(random.random.__name__, random.choice.__name__, type(random.getstate()))
pickle.dumps(random.Random()); pickle.dumps(random.choice)
import inspect, tempfile
print(inspect.signature(random.randint), type(tempfile.__loader__).__name__)
print(tempfile.__spec__.loader is tempfile.__loader__)
"""


@EVERY
def test_types_errors_and_shapes_are_the_librarys_own(place: Place, python: str) -> None:
    shimmed = place.out(KEPT, python=python)
    (place.folder / "page").unlink()
    assert place.out(KEPT, python=python) == shimmed


def test_time_stamps_of_uuid1_differ_also_where_the_clock_stands_still(place: Place) -> None:
    program = """
import time; time.time_ns = lambda: 10**18
import uuid, threading
found = [str(uuid.uuid1())]  # which of the threads comes first is not ours to say
threads = [threading.Thread(target=lambda: found.extend(str(uuid.uuid1()) for _ in range(50))) for _ in range(20)]
for one in threads: one.start()
for one in threads: one.join()
print(len(set(found)), found[0].rpartition("-")[0])  # the rest is the card's
"""
    first = place.out(program)
    assert first.split()[0] == "1001"
    assert place.out(program) == first


def test_the_sitecustomize_that_was_there_still_runs_and_is_the_one_that_programs_see(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(
        "import builtins\nbuiltins.there = __file__\nMINE = 1\n"
    )
    program = (
        "import sitecustomize, sys, os; print(there, sitecustomize.MINE, sys.path[:3], os.urandom(4).hex())"
    )
    ended = place.run(program, path=str(tmp_path / "own"))
    assert ended.stderr == ""
    assert f"{tmp_path}/own/sitecustomize.py 1 ['', '{tmp_path}/own'" in ended.stdout
    assert place.run(program, path=str(tmp_path / "own")).stdout == ended.stdout


@pytest.mark.parametrize("text", ["raise ValueError('theirs')", "import nothing_of_that_name"])
def test_what_goes_wrong_in_it_is_told_as_without_us(place: Place, tmp_path: Path, text: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(text)
    ended = place.run("print(1)", path=str(tmp_path / "own"))
    bare = subprocess.run(
        [sys.executable, "-c", "print(1)"],
        env={"PYTHONPATH": str(tmp_path / "own")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr.splitlines()[-1:]) == (bare.stdout, bare.stderr.splitlines()[-1:])


def test_without_a_page_nothing_is_changed(place: Place) -> None:
    (place.folder / "page").unlink()
    program = "import os, sys; print(os.urandom, [type(one).__name__ for one in sys.meta_path])"
    assert "System" not in place.out(program)
    assert "Finder" not in place.out(program)
    place.page(SEED)
    assert "System" in place.out(program)


def test_what_does_not_work_is_noted_once_and_the_program_goes_on(place: Place) -> None:
    shim = place.folder / "python" / "sitecustomize.py"
    text = shim.read_text()
    shim.write_text(text.replace("base = module.Random", "base = module.Nothing"))
    for _ in range(2):
        assert place.out("import random; print(0 <= random.random() < 1)") == "True\n"
    (note,) = place.notes()
    assert note.split("\0")[:2] == ["python", "random"]
    assert "Nothing" in note
    shim.write_text(text.replace("import posix", "import no_posix"))
    assert place.out("print(1)") == "1\n"
    assert len(place.notes()) == 2


def test_old_interpreters_are_left_alone_and_named(place: Place) -> None:
    shim = place.folder / "python" / "sitecustomize.py"
    shim.write_text(shim.read_text().replace("_OLDEST = (3, 8)", "_OLDEST = (4, 0)"))
    assert "System" not in place.out("import os; print(os.urandom)")
    assert place.notes()[0].split("\0")[:2] == ["python", "randomness"]


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_flags_that_skip_it_do(place: Place, flag: str) -> None:
    env = {"PYTHONPATH": f"{place.folder}/python"}
    argv = [sys.executable, flag, "-c", "import os; print(os.urandom)"]
    assert "System" not in subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout
