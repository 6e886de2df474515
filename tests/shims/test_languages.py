"""The shims of languages inside a real boundary, beside the preload: who draws decides, and not who is faster."""

import pytest

from tests.launcher.rig import SYSTEM_PYTHON
from tests.shims.rig import SEED, shimmed
from tests.shims.test_sitecustomize import DRAWS, FORKS, TASKS, THREADS

pytestmark = pytest.mark.attack


def run(program: str, *words: str, seed: bytes = SEED, languages: bool = True) -> str:
    result = shimmed(
        SYSTEM_PYTHON, "-c", program, *words, seed=seed, languages=languages, env={"PYTHONHASHSEED": "1"}
    )
    assert result.ended is not None, result.error
    assert result.ended.status == 0, result.err
    return result.out


def test_every_draw_is_the_seeds_and_not_the_preloads():
    first = run(DRAWS)
    assert run(DRAWS) == first
    assert run(DRAWS, seed=SEED[::-1]) != first
    assert run(DRAWS, languages=False) != first


def test_fifty_tasks_draw_the_same_in_whatever_order_they_go_on():
    assert run(TASKS, "forth", "order") == run(TASKS, "back", "order")


def test_with_the_preload_alone_tasks_mix():
    forth, back = (run(TASKS, way, "order", languages=False) for way in ("forth", "back"))
    assert forth != back


def test_threads_draw_by_who_started_them():
    assert run(THREADS, "forth") == run(THREADS, "back")


PROGRAMS = """
import os, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
PATH = "/proc/sys/kernel/random/uuid"
def job(number):
    time.sleep((number % 3 if sys.argv[1] == "forth" else 2 - number % 3) / 20)
    if number % 2: return subprocess.run(["cat", PATH], capture_output=True, text=True).stdout.strip()
    read, write = os.pipe()
    kept = [(os.POSIX_SPAWN_DUP2, write, 1)]
    child = os.posix_spawn("/bin/cat", ["cat", PATH], os.environ, file_actions=kept)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as found: return found.read().strip()
with ThreadPoolExecutor(4) as pool:
    drawn = list(pool.map(job, range(12)))
assert len(set(drawn)) == 12
print(drawn, sorted(name for name in os.environ if name.startswith("HARK")))
"""


def test_programs_that_a_pools_threads_start_draw_by_whose_work_it_was():
    assert run(PROGRAMS, "forth") == run(PROGRAMS, "back")
    forth, back = (run(PROGRAMS, way, languages=False) for way in ("forth", "back"))
    assert forth != back, "the control: by thread they differ"


def test_forked_children_draw_the_same_again():
    assert run(FORKS, "forth", "a") == run(FORKS, "back", "a")


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_draw_by_the_order_in_which_they_were_started(way: str):
    program = f"""
import multiprocessing, os, random, sys, time, uuid
def work(number, queue):
    time.sleep((number if sys.argv[1] == "forth" else 3 - number) / 20)
    queue.put((number, random.random(), uuid.uuid4().hex))
if __name__ == "__main__":
    context = multiprocessing.get_context({way!r})
    queue = context.SimpleQueue()
    children = [context.Process(target=work, args=(number, queue)) for number in range(4)]
    for child in children: child.start()
    found = sorted(queue.get() for _ in children)
    for child in children: child.join()
    assert len({{words for _, _, words in found}}) == 4
    print(found)
"""
    script = f"open('m.py', 'w').write({program!r}); import os, sys; os.execv(sys.executable, [sys.executable, 'm.py', *sys.argv[1:]])"
    assert run(script, "forth") == run(script, "back")


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-Es", "-uI"])
def test_a_python_that_leaves_the_shim_out_is_named(flag: str):
    result = shimmed(
        SYSTEM_PYTHON,
        "-X",
        "utf8",
        flag,
        "-c",
        "1",
        "-I",
        languages=True,
        after=lambda boundary: boundary.log.notes(),
    )
    assert result.found == [
        ("python", "randomness by task", "a Python was started with -I, -E or -S, which leave the shim out")
    ]


def test_a_python_with_other_options_is_not():
    result = shimmed(
        SYSTEM_PYTHON,
        "-W",
        "ignore",
        "-u",
        "-c",
        "1",
        "-I",
        "-S",
        languages=True,
        after=lambda b: b.log.notes(),
    )
    assert result.found == []
