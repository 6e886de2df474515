"""What commands do first: modules from trusted places alone, classes made quickly, no search for garbage."""

import subprocess
import sys

BEGIN = """
import dataclasses, gc, sys
from hark import starting
starting.begin()
"""


def said(code, **named):
    out = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, check=True, text=True, **named
    )
    return out.stdout.split()


def test_nothing_is_imported_from_the_current_directory(tmp_path):
    (tmp_path / "planted.py").write_text("print('planted')")
    code = "try:\n import planted\nexcept ImportError:\n print('refused')"
    assert said(code, cwd=tmp_path) == ["refused"]
    control = subprocess.run(
        [sys.executable, "-c", "import planted"], cwd=tmp_path, capture_output=True, check=True
    )
    assert control.stdout == b"planted\n"


def test_methods_of_dataclasses_are_compiled_later():
    code = "@dataclasses.dataclass\nclass A:\n a: int\nprint(vars(A)['__init__'].__code__.co_name)"
    assert said(code) == ["later" if sys.version_info >= (3, 13) else "__init__"]


def test_garbage_is_searched_for_again_but_not_among_what_was_loaded():
    assert said("starting.hold_collector(); print(gc.isenabled())") == ["False"]
    released = "starting.hold_collector(); starting.release_collector(); "
    code = f"{released} print(gc.isenabled(), gc.get_freeze_count() > 999)"
    assert said(code) == ["True", "True"]


def test_who_held_no_collector_releases_none():
    released = "before = gc.get_freeze_count(); starting.release_collector(); "
    assert said(f"{released} print(gc.isenabled(), gc.get_freeze_count() - before)") == ["True", "0"]


ASYNCIO = "import asyncio\nasyncio.run(asyncio.sleep(0))\nfrom asyncio import sslproto\n"
FOUND = "print('_ssl' in sys.modules, sslproto.ssl is None)"


def test_a_replay_leaves_the_standard_librarys_tls_out():
    assert said(f"starting.leave_out_tls()\n{ASYNCIO}{FOUND}") == ["False", "True"]
    assert said(ASYNCIO + FOUND) == ["True", "False"]


def test_tls_that_is_there_stays():
    assert said(f"import ssl\nstarting.leave_out_tls()\n{ASYNCIO}{FOUND}") == ["True", "False"]


def test_dataclasses_are_made_without_what_looks_into_programs():
    code = "import sys\nfrom hark import starting\nstarting.begin()\nimport dataclasses\n"
    code += "@dataclasses.dataclass\nclass A:\n a: int\nclass B(A): pass\nprint('ast' in sys.modules)\n"
    look = "import inspect\nprint(inspect.get_annotations(A), inspect.get_annotations(B))\n"
    look += "async def f(): pass\nis_one = inspect.iscoroutinefunction\nprint(is_one(f), is_one(A))\n"
    look += "print(is_one(inspect.markcoroutinefunction(lambda: f())))\n"
    real = "print(inspect.get_annotations(said := lambda: 0), inspect.isfunction(said), 'ast' in sys.modules)"
    same = ["{'a':", "<class", "'int'>}", "{}", "True", "False", "True", "{}", "True", "True"]
    done = subprocess.run(
        [sys.executable, "-c", code + look + real], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == [str(sys.version_info[:2] != (3, 13)), *same]
