"""What makes an agent's clock and randomness the same again, and the events that say what was in force.

The seed is drawn once a run and stands in the record; every draw of the agent follows from it, keys that the
agent makes among them (`[replay] randomness = "real"` leaves them to the kernel). The wall clock is moved by
each inbound event after it is in the file and before its bytes reach the agent. Nothing here is part of the
boundary: an agent that evades the shims repeats itself less, and reaches no further.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hark.bundle import events as ev
from hark.policy.model import Clock, Randomness
from hark.repeatable import bytecode, language_shims
from hark.repeatable.shim_library import NoLibraryError, library
from hark.replay import clocklog
from hark.visible import visible
from launcher import pages

if TYPE_CHECKING:
    from hark.policy.model import ReplayRules
    from launcher.plan import Plan

SEED_BYTES: Final = 32
LIBRARY: Final = f"{pages.FOLDER}/preload.so"
NO_RDRAND: Final = "~0x4000000000000000:~0x40000"
"""RDRAND and RDSEED masked, for OpenSSL (OPENSSL_ia32cap(3)) and BoringSSL, which on Intel's processors mixes
RDRAND into every draw. The instructions themselves cannot be taken from a program."""
JAVA_SEEDED: Final = "-Djava.util.secureRandomSeed=true"
"""Has a JVM seed ThreadLocalRandom and SplittableRandom as it seeds SecureRandom, and not by its clocks."""
_ZONES: Final = "/zoneinfo/"
_SOURCE: Final = "preload"
FULL_OF_REFRESHES: Final = "process 1 has no room for more refreshes of programs without a shim"
UNHEARD: Final = "a filter of system calls above this run is listened to already, so none is answered by hark"
_UNREACHED: Final = "it loads no library, as static programs do: its clock is the machine's"

INBOUND: Final = frozenset(
    {
        *(ev.DnsDecision, ev.EgressDecision, ev.LlmResponseChunk, ev.Trailers, ev.Interim),
        *(ev.WebSocketMessage, ev.TunnelData, ev.McpMessage, ev.Input),
    }
)
"""What is on the record before it reaches the agent, and so moves its clock; those with `from_agent` only
where that is false. Heads and ends of answers do not: the agent may be at work on them before they are."""

type OnFrame = Callable[[ev.Event | ev.Unknown, int], None]


@dataclass(frozen=True, slots=True)
class Determinism:
    """What one run has under control. `seed` is empty where randomness is the kernel's."""

    seed: bytes = b""
    clock: bool = False
    preload: bytes = b""
    """The shim; empty where there is none."""
    missing: str = ""
    """Why there is none, though it was wanted."""
    recorded: bytes | None = None
    """In a replay: the recorded refreshes of the clock, as `clocklog.unpack` returns them."""
    languages: Mapping[str, bytes] = field(default_factory=dict)
    """The shims of languages (`hark.repeatable.language_shims`), where randomness is the seed's."""

    nested: bool = False
    """Namespaces nest, so no call of the agent's is answered by process 1."""

    @property
    def notified(self) -> bool:
        """Whether who asks the kernel itself draws from the seed too."""
        return bool(self.seed) and not self.nested

    @property
    def clock_notified(self) -> bool:
        """Whether programs without a shim are shown the run's clock: a system call tells of their start."""
        return self.clock and self.shim and not self.nested and os.uname().machine == "x86_64"

    @property
    def shim(self) -> bool:
        """Whether the agent's programs are given any."""
        return bool(self.preload or self.languages)

    @property
    def flags(self) -> int:
        """The page's."""
        return (
            (pages.SEEDED if self.seed else 0)
            | (pages.CLOCKED if self.clock else 0)
            | (0 if self.recorded is None else pages.REPLAYED)
        )

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What is in force, in the record's words."""
        found = []
        if self.preload and self.clock:
            found.append("clock preload")
        if self.preload and self.seed:
            found.append("random preload")
        if self.languages and self.seed:
            found.extend(language_shims.MECHANISMS)
        if self.notified:
            found.append("random notify")
        if self.clock_notified:
            found.append("clock notify")
        if self.seed:
            found.append("aslr off")
        return tuple(found)

    def files(self) -> dict[str, bytes]:
        """What the agent is shown for it."""
        shown = dict(self.languages)
        if self.preload:
            shown[LIBRARY] = self.preload
        if self.shim and self.recorded is not None:
            shown[pages.RECORDED] = clocklog.replayed(self.recorded)
        return shown

    def opening(self) -> ev.Determinism:
        """The event that says what is in force."""
        return ev.Determinism(seed=self.seed, mechanisms=self.mechanisms)


def arrange(
    rules: "ReplayRules",
    environ: Mapping[str, str],
    writable: Iterable[str],
    *,
    nested: bool = False,
    seed: bytes | None = None,
    recorded: bytes | None = None,
) -> Determinism:
    """Settle what is under control in one run: as its policy says, and as far as this system can.

    `seed` and `recorded` are a recorded run's, for its replay.
    """
    clock = rules.clock is Clock.RECORDED
    drawn = (
        (os.urandom(SEED_BYTES) if seed is None else seed) if rules.randomness is Randomness.SEEDED else b""
    )
    if not clock and not drawn:
        return Determinism()
    places = tuple(writable)
    languages = language_shims.files() if drawn else {}
    if languages:
        shim = language_shims.PYTHON_SHIM
        languages |= bytecode.compiled(shim, languages[shim], environ, places)
    try:
        built, missing = library(environ, places), ""
    except NoLibraryError as error:
        built, missing = b"", str(error)
    return Determinism(drawn, clock, built, missing, recorded, languages, nested)


def variables(found: Determinism, env: Mapping[str, str]) -> dict[str, str]:
    """What the agent's environment has for it beside `env`, whose own values are kept."""
    more: dict[str, str] = {}
    if found.languages:
        more |= language_shims.variables(env)
    if found.preload:
        given = env.get("LD_PRELOAD", "")
        more["LD_PRELOAD"] = f"{LIBRARY}:{given}" if given else LIBRARY
    if found.seed and "OPENSSL_ia32cap" not in env:
        more["OPENSSL_ia32cap"] = NO_RDRAND
    if found.seed and "PYTHONHASHSEED" not in env:
        more["PYTHONHASHSEED"] = str(int.from_bytes(found.seed[:4]) or 1)
    if found.clock and "TZ" not in env and (zone := _zone()):
        more["TZ"] = zone
    return more


def java_options(found: Determinism) -> tuple[str, ...]:
    """What a JVM is told for it."""
    return (JAVA_SEEDED,) if found.seed else ()


def _zone() -> str:
    """The system's time zone by name; empty where only its rules are known."""
    try:
        target = os.readlink("/etc/localtime")
    except FileNotFoundError:
        return "UTC"
    except OSError:
        return ""
    return target.partition(_ZONES)[2]


def on_frame(page: pages.Page, started_at: int) -> OnFrame:
    """What the writer of a recording calls after each frame: moves the agent's clock to what comes in."""

    def move(event: ev.Event | ev.Unknown, time_ns: int) -> None:
        if type(event) in INBOUND and not getattr(event, "from_agent", False):
            page.set_wall(started_at + time_ns)

    return move


def begin(found: Determinism, page: pages.Page, log: pages.Log, wall_ns: int) -> None:
    """Fill the page before the agent starts."""
    log.prepare()
    page.begin(wall_ns, found.seed or bytes(SEED_BYTES), found.flags)


def closing(
    found: Determinism,
    plan: "Plan",
    log: pages.Log | None,
    unreached: Iterable[str] = (),
    *,
    since: tuple[int, int] = (0, 0),
    unheard: bool = False,
) -> Iterator[ev.Event]:
    """The events that say what the shims saw, after the agent has ended.

    `since`: how many refreshes of the clock are on the record already, of the log and of process 1's own.
    """
    if found.missing:
        yield ev.ShimReport(source=_SOURCE, what="clock and randomness", why=found.missing)
    if unheard:
        yield ev.ShimReport("notify", "clock and randomness", UNHEARD)
    if log is None:
        return
    for name in unreached:
        yield ev.ShimReport(_SOURCE, name, _UNREACHED)
    from hark.repeatable.programs import manifest

    yield from manifest(log.programs(), plan)
    records, dropped = log.records(since[0])
    more, full = log.kernel_records(since[1])
    yield from clocklog.events(clocklog.settle(records + more))
    if full:
        yield ev.ShimReport("notify", "clock", FULL_OF_REFRESHES)
    if dropped:
        yield ev.ShimReport(_SOURCE, "clock", f"the log was full: {dropped} refreshes are not in it")
    yield from (ev.ShimReport(*note) for note in log.notes())


def said(
    found: Determinism,
    log: pages.Log | None = None,
    unreached: Iterable[str] = (),
    *,
    unheard: bool = False,
) -> Iterator[str]:
    """Sentences for the user at the end of a run."""
    if unheard:
        yield f"a replay may differ in programs that load no library (static ones, Go): {UNHEARD}"
    for source, what, why in () if log is None else log.notes():
        yield f"a replay may differ in {what} ({source}): {why}"
    if found.missing:
        yield (
            f"clock and randomness were the machine's own, so a replay may differ: {found.missing}; "
            'or do without, by clock = "real" and randomness = "real" under [replay] of the policy'
        )
    elif found.preload and (names := ", ".join(visible(name) for name in unreached)):
        yield f"a replay may differ in {names}: {_UNREACHED}"
