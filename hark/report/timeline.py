"""A run's timeline as SVG: exchanges as bars with their waits, marks for what else happened, links as curves.

What always holds: the drawing has a bounded number of elements; where there are more exchanges or marks than
that, they are drawn as counts per slice of time, and the words beside it say so. Times are exact in the list
of events; here they are to be seen.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from hark.report.facts import DENIAL, INPUT, LANES, SECRET, TOOL, Bar, Facts, Mark
from hark.report.links import Link
from hark.report.markup import number, shown, text

WIDTH: Final = 1160
LEFT: Final = 168
RIGHT: Final = 16
ROW: Final = 17
BAR: Final = 11
MAX_DRAWN: Final = 600  # bars, and marks of one lane
MAX_HOSTS: Final = 7
MAX_ROWS: Final = 5  # of one host, where exchanges overlap
MAX_CURVES: Final = 80
SLICES: Final = 200
_ROOM: Final = WIDTH - LEFT - RIGHT
_SIGNS: Final = {DENIAL: "denied", SECRET: "secret", TOOL: "tool", INPUT: "input"}
_STEPS: Final = (1, 2, 5)


def timeline(facts: Facts, links: Sequence[Link]) -> str:
    """Return the drawing and the words below it."""
    drawing = _Drawing(facts.last_ns or 1)
    drawing.hosts(facts.bars)
    for lane in LANES:
        drawing.marks(lane, [mark for mark in facts.marks if mark.lane == lane])
    curves = list(links[:MAX_CURVES]) if len(links) <= MAX_CURVES else []
    drawing.curves(curves)
    for seq, time_ns, branch in facts.branches:
        drawing.branch(seq, time_ns, branch.at)
    drawing.axis()
    if len(links) > MAX_CURVES:
        drawing.notes.append(f"The {number(len(links))} links are listed below and not drawn.")
    return drawing.svg(facts)


class _Drawing:
    def __init__(self, last_ns: int) -> None:
        self._last = last_ns
        self._y = 10
        self._parts: list[str] = []
        self._over: list[str] = []
        self._places: dict[int, tuple[float, float]] = {}
        self.notes: list[str] = []

    def x(self, time_ns: int) -> float:
        return LEFT + _ROOM * min(max(time_ns, 0), self._last) / self._last

    def hosts(self, bars: Sequence[Bar]) -> None:
        counts = Counter(bar.host for bar in bars)
        first = [host for host, _ in counts.most_common(MAX_HOSTS)]
        shown_hosts = [host for host in dict.fromkeys(bar.host for bar in bars) if host in first]
        by_host: dict[str, list[Bar]] = defaultdict(list)
        for bar in bars:
            by_host[bar.host if bar.host in first else ""].append(bar)
        if len(bars) > MAX_DRAWN:
            self.notes.append(
                f"{number(len(bars))} exchanges are more than can be told apart: each column is a "
                f"{SLICES}th of the run, its height how many exchanges began in it."
            )
        for host in shown_hosts:
            self._host(host, by_host[host], counts[host], sliced=len(bars) > MAX_DRAWN)
        if by_host[""]:
            others = len(counts) - len(first)
            name = f"{number(others)} other host{'' if others == 1 else 's'}"
            self._host(name, by_host[""], len(by_host[""]), sliced=len(bars) > MAX_DRAWN)

    def _host(self, host: str, bars: list[Bar], count: int, *, sliced: bool) -> None:
        self._label(host, number(count))
        if sliced:
            self._columns([bar.begin_ns for bar in bars if not bar.refused], "stream", "exchange")
            self._columns([bar.begin_ns for bar in bars if bar.refused], "denied", "refused exchange")
            self._y += ROW + 12
            return
        rows: list[int] = []
        for bar in sorted(bars, key=lambda one: one.begin_ns):
            row = next((at for at, free in enumerate(rows) if free <= bar.begin_ns), len(rows))
            row = min(row, MAX_ROWS - 1)
            rows[row : row + 1] = [bar.end_ns]
            self._bar(bar, self._y + row * ROW)
        self._y += ROW * max(1, len(rows)) + 6

    def _bar(self, bar: Bar, y: float) -> None:
        begin, first, end = (self.x(time) for time in (bar.begin_ns, bar.first_ns, bar.end_ns))
        tone = "denied" if bar.refused else "model" if bar.model else "stream"
        title = (
            f"{bar.words}: waited {_ms(bar.first_ns - bar.begin_ns)}, answer {_ms(bar.end_ns - bar.first_ns)}"
        )
        self._parts.append(
            f'<a href="#e{bar.seq}"><g><title>event {bar.seq}: {text(title)}</title>'
            f'<rect class="wait" x="{begin:.1f}" y="{y:.1f}" width="{max(first - begin, 0):.1f}" height="{BAR}"/>'
            f'<rect class="{tone}" x="{first:.1f}" y="{y:.1f}" width="{max(end - first, 2.5):.1f}" height="{BAR}"/>'
            "</g></a>"
        )
        middle = y + BAR / 2
        self._places[bar.seq] = (begin, middle)

    def marks(self, lane: str, marks: Sequence[Mark]) -> None:
        if not marks:
            return
        self._label(lane, number(len(marks)))
        sign = _SIGNS[lane]
        if len(marks) > MAX_DRAWN:
            self.notes.append(f"{number(len(marks))} marks in the lane {lane} are drawn as counts likewise.")
            self._columns([mark.time_ns for mark in marks], sign, "mark")
            self._y += ROW + 12
            return
        for mark in marks:
            x, y = self.x(mark.time_ns), self._y + BAR / 2
            self._places[mark.seq] = (x, y)
            self._parts.append(
                f'<a href="#e{mark.seq}"><g><title>event {mark.seq}: {text(mark.words)}</title>'
                f'<path class="{sign}" d="{_sign(sign, x, y)}"/></g></a>'
            )
        self._y += ROW + 6

    def _columns(self, times: Iterable[int], tone: str, what: str) -> None:
        slices = Counter(min(SLICES - 1, time * SLICES // (self._last + 1)) for time in times)
        most, width = max(slices.values(), default=1), _ROOM / SLICES
        for at, count in sorted(slices.items()):
            height = max(2.0, (ROW + 6) * count / most)
            self._parts.append(
                f'<rect class="{tone}" x="{LEFT + at * width:.1f}" y="{self._y + ROW + 6 - height:.1f}" '
                f'width="{max(width - 0.6, 1):.1f}" height="{height:.1f}">'
                f"<title>{number(count)} {what}{'' if count == 1 else 's'}</title></rect>"
            )

    def _label(self, name: str, count: str) -> None:
        self._parts.append(
            f'<text class="lane" x="{LEFT - 12}" y="{self._y + BAR - 1}" text-anchor="end">{text(_fit(name))}'
            f' <tspan class="count">{count}</tspan><title>{text(name[:200])}</title></text>'
            f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self._y - 4}" y2="{self._y - 4}"/>'
        )

    def curves(self, links: Iterable[Link]) -> None:
        """Draw links between what is drawn; an end that has no place of its own is on the axis."""
        for link in links:
            (x1, y1), (x2, y2) = self._at(link.source, link.begin_ns), self._at(link.target, link.end_ns)
            bend = min(60.0, abs(x2 - x1) / 2 + 8)
            kind = "read" if link.read else "inferred"
            self._over.append(
                f'<path class="link {kind}" d="M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} '
                f'{x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"><title>{kind}: event {link.source} to event '
                f"{link.target}, {text(link.how)}</title></path>"
            )

    def _at(self, seq: int, time_ns: int) -> tuple[float, float]:
        place = self._places.get(seq)
        if place is not None:
            return place
        near = max((one for one in self._places if one <= seq), default=None)
        return self.x(time_ns), self._places[near][1] if near is not None else self._y

    def branch(self, seq: int, time_ns: int, at: int) -> None:
        x = self.x(time_ns)
        end = "end" if x > WIDTH - 260 else "start"
        self._over.append(
            f'<a href="#e{seq}"><line class="branch" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{self._y}"/>'
            f'<text class="branch" x="{x + (-5 if end == "end" else 5):.1f}" y="{self._y + 2}" text-anchor="{end}">'
            f"live from here (event {at} of the parent that it names)</text></a>"
        )

    def axis(self) -> None:
        y = self._y + 8
        step = _step(self._last)
        for tick in range(0, self._last + 1, step):
            x = self.x(tick)
            anchor = "end" if x > WIDTH - 40 else "start" if tick == 0 else "middle"
            self._parts.append(
                f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{y}"/>'
                f'<text class="axis" x="{x:.1f}" y="{y + 14}" text-anchor="{anchor}">{_time(tick, step)}</text>'
            )
        self._y = y + 24

    def svg(self, facts: Facts) -> str:
        title = f"Timeline of {_time(facts.last_ns, 1_000_000)}"
        described = (
            f"{number(facts.exchanges)} exchanges, {number(facts.marked[DENIAL])} denials, "
            f"{number(facts.marked[SECRET])} uses of secrets, {number(facts.marked[TOOL])} marks of tools."
        )
        notes = "".join(f'<p class="note">{shown(note)}</p>' for note in self.notes)
        return (
            f'<div class="wide"><svg class="time" role="img" viewBox="0 0 {WIDTH} {self._y:.0f}" '
            'xmlns="http://www.w3.org/2000/svg" aria-labelledby="time-title time-words">'
            f'<title id="time-title">{title}</title><desc id="time-words">{described}</desc>'
            f"{''.join(self._parts)}{''.join(self._over)}</svg></div>{_LEGEND}{notes}"
        )


def _sign(sign: str, x: float, y: float) -> str:
    match sign:
        case "denied":
            return f"M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8"
        case "secret":
            return f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z"
        case "tool":
            return f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z"
        case _:
            return f"M{x - 4:.1f} {y - 5:.1f}l8 5l-8 5z"


def _fit(name: str) -> str:
    return name if len(name) <= 19 else f"{name[:18]}…"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1_000_000:,.1f} ms"


def _step(last: int) -> int:
    """Return the distance of ticks: a round number, so that there are at most nine."""
    unit = 1_000
    while True:
        for factor in _STEPS:
            if last / (unit * factor) <= 8:
                return unit * factor
        unit *= 10


def _time(nanoseconds: int, step: int) -> str:
    if step >= 1_000_000_000 or nanoseconds == 0:
        return f"{nanoseconds / 1_000_000_000:,.0f} s"
    if step >= 1_000_000:
        return f"{nanoseconds / 1_000_000_000:,.3f} s"
    return f"{nanoseconds / 1_000_000:,.3f} ms"


_LEGEND: Final = (
    '<ul class="legend">'
    '<li><span class="key wait"></span>waiting for the answer</li>'
    '<li><span class="key model"></span>a model answers</li>'
    '<li><span class="key stream"></span>another server answers</li>'
    '<li><span class="key denied"></span>denied or refused</li>'
    '<li><span class="key secret"></span>a secret was put in</li>'
    '<li><span class="key tool"></span>a tool</li>'
    '<li><span class="curve read"></span>read from the data</li>'
    '<li><span class="curve inferred"></span>inferred</li></ul>'
)
