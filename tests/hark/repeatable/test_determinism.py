"""What of a run is under control: as its policy says, and as far as the system can."""

import os
from types import SimpleNamespace

import pytest

from hark.bundle import events as ev
from hark.policy.model import Clock, Randomness, ReplayRules
from hark.repeatable import bytecode, determinism
from hark.repeatable.determinism import NO_RDRAND, Determinism, arrange, variables
from hark.repeatable.shim_library import NoLibraryError
from hark.replay import clocklog
from launcher import pages
from launcher.pages import CLOCKED, LOG_BYTES, PAGE_BYTES, REPLAYED, SEEDED, Log, Page
from launcher.plan import Plan

SEED = bytes(range(32))
PLAN = Plan(argv=("x",), executable="/x", workdir="/", env={}, grants=())
FULL = Determinism(SEED, clock=True, preload=b"elf")
CLOCK_NOTIFY = ("clock notify",) if os.uname().machine == "x86_64" else ()


BYTECODE = "/run/hark/shim/python/__pycache__/sitecustomize.cpython-313.pyc"


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinism, "library", lambda environ, writable: b"elf")
    monkeypatch.setattr(bytecode, "compiled", lambda *_given: {BYTECODE: b"pyc"})


def test_the_python_shim_comes_with_its_bytecode():
    assert arrange(ReplayRules(), {}, []).files()[BYTECODE] == b"pyc"


def test_all_is_under_control_unless_the_policy_says_else():
    found = arrange(ReplayRules(), {}, [])
    assert len(found.seed) == 32
    everything = (
        "clock preload",
        "random preload",
        "random python",
        "random node",
        "random notify",
        *CLOCK_NOTIFY,
        "aslr off",
    )
    assert found.mechanisms == everything
    assert found.flags == SEEDED | CLOCKED
    assert arrange(ReplayRules(), {}, []).seed != found.seed


def test_the_policy_leaves_each_to_the_machine():
    rules = ReplayRules(clock=Clock.REAL, randomness=Randomness.REAL)
    assert arrange(rules, {}, []) == Determinism()
    assert arrange(ReplayRules(clock=Clock.REAL), {}, []).mechanisms == (
        *("random preload", "random python", "random node", "random notify", "aslr off"),
    )
    assert arrange(ReplayRules(randomness=Randomness.REAL), {}, []).mechanisms == (
        *("clock preload", *CLOCK_NOTIFY),
    )


def test_a_replay_takes_seed_and_clock_of_the_recorded_run():
    found = arrange(ReplayRules(), {}, [], seed=SEED, recorded=b"")
    assert found.seed == SEED
    assert found.flags == SEEDED | CLOCKED | REPLAYED
    assert found.files()[pages.RECORDED].startswith(b"HARKCK1\0")


def test_a_missing_library_is_on_the_record_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(environ: object, writable: object) -> bytes:
        raise NoLibraryError("there is no C compiler")

    monkeypatch.setattr(determinism, "library", none)
    found = arrange(ReplayRules(), {}, [])
    assert found.shim
    assert determinism.LIBRARY not in found.files()
    assert found.mechanisms == ("random python", "random node", "random notify", *CLOCK_NOTIFY, "aslr off")
    assert list(determinism.closing(found, PLAN, None)) == [
        ev.ShimReport("preload", "clock and randomness", "there is no C compiler")
    ]
    assert "install a C compiler" not in "".join(determinism.said(found))  # the reason says what to do
    assert "there is no C compiler" in "".join(determinism.said(found))
    assert list(determinism.said(FULL)) == []


def test_the_environment_keeps_what_it_has():
    assert variables(FULL, {"TZ": "Asia/Tokyo"}) == {
        "LD_PRELOAD": "/run/hark/shim/preload.so",
        "OPENSSL_ia32cap": NO_RDRAND,
        "PYTHONHASHSEED": str(0x00010203),
    }
    given = {"LD_PRELOAD": "/mine.so", "PYTHONHASHSEED": "7", "TZ": "UTC", "OPENSSL_ia32cap": "0"}
    assert variables(FULL, given) == {"LD_PRELOAD": "/run/hark/shim/preload.so:/mine.so"}
    assert variables(Determinism(), {}) == {}
    shims = Determinism(SEED, languages={"/run/hark/shim/python/sitecustomize.py": b""})
    assert variables(shims, {"PYTHONHASHSEED": "7"}) == {
        "PYTHONPATH": "/run/hark/shim/python",
        "NODE_OPTIONS": "--require /run/hark/shim/node.cjs",
        "OPENSSL_ia32cap": NO_RDRAND,
    }
    assert variables(shims, {"PYTHONPATH": "/mine"})["PYTHONPATH"] == "/run/hark/shim/python:/mine"


def test_a_jvm_seeds_what_it_can_by_the_runs_seed():
    assert determinism.java_options(FULL) == ("-Djava.util.secureRandomSeed=true",)
    assert determinism.java_options(Determinism()) == ()


@pytest.mark.parametrize(
    ("event", "moves"),
    [
        (ev.DnsDecision("a", True, "", "", ""), True),
        (ev.LlmResponseChunk(0, b"x"), True),
        (ev.Input("stdin", b"x"), True),
        (ev.TunnelData(from_agent=False), True),
        (ev.TunnelData(from_agent=True), False),
        (ev.LlmRequest("a"), False),
        (ev.DnsQuery("a"), False),
    ],
)
def test_what_comes_in_moves_the_clock_and_what_the_agent_does_does_not(event: ev.Event, moves: bool) -> None:
    descriptor = os.memfd_create("page")
    os.ftruncate(descriptor, PAGE_BYTES)
    page = Page(descriptor)
    page.begin(1000, SEED, CLOCKED)
    determinism.on_frame(page, 1000)(event, 50)
    assert page.wall_ns == (1050 if moves else 1000)


def test_a_full_log_is_told():
    descriptor = os.memfd_create("log")
    os.ftruncate(descriptor, LOG_BYTES)
    os.pwrite(descriptor, ((1 << 18) + 3).to_bytes(8, "little"), 8)
    note = b"python\0randomness\0it is old"
    os.pwrite(descriptor, note, LOG_BYTES - 256)
    log = Log(descriptor)
    *_, report, noted = determinism.closing(FULL, PLAN, log)
    assert noted == ev.ShimReport("python", "randomness", "it is old")
    assert list(determinism.said(FULL, log)) == ["a replay may differ in randomness (python): it is old"]
    assert report == ev.ShimReport("preload", "clock", "the log was full: 3 refreshes are not in it")


def test_where_namespaces_nest_no_call_is_answered():
    assert not {"random notify", "clock notify"} & set(arrange(ReplayRules(), {}, [], nested=True).mechanisms)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_only_where_a_call_tells_of_a_programs_start_is_the_clock_notified(
    monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    assert ("clock notify" in FULL.mechanisms) == (machine == "x86_64")


def test_where_no_call_is_heard_that_is_recorded_and_said() -> None:
    report = ev.ShimReport("notify", "clock and randomness", determinism.UNHEARD)
    assert report in list(determinism.closing(FULL, PLAN, None, unheard=True))
    assert determinism.UNHEARD in next(determinism.said(FULL, unheard=True))
    assert list(determinism.said(FULL)) == []


def test_what_process_1_kept_of_clocks_is_recorded_with_the_rest() -> None:
    shims, kept = os.memfd_create("log"), os.memfd_create("kept")
    os.ftruncate(shims, LOG_BYTES)
    os.pwrite(kept, clocklog.RECORD.pack(b"s" * 16, 1 << 56, 77), 0)
    log = Log(shims, kept)
    (event,) = determinism.closing(FULL, PLAN, log)
    assert isinstance(event, ev.ClockLog)
    assert clocklog.unpack([event]) == clocklog.RECORD.pack(b"s" * 16, 1 << 56, 77)
    os.ftruncate(kept, pages.KERNEL_LOG_BYTES)
    assert ev.ShimReport("notify", "clock", determinism.FULL_OF_REFRESHES) in list(
        determinism.closing(FULL, PLAN, log)
    )


def test_a_program_without_a_shim_is_on_the_record_and_said():
    log = os.memfd_create("log")
    os.ftruncate(log, LOG_BYTES)
    (report,) = determinism.closing(FULL, PLAN, Log(log), ("tool",))
    assert report == ev.ShimReport("preload", "tool", determinism._UNREACHED)
    assert next(determinism.said(FULL, None, ("tool\x1b",))).startswith("a replay may differ in tool")
    assert "\x1b" not in "".join(determinism.said(FULL, None, ("tool\x1b",)))
