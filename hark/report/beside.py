"""Two runs side by side, by their steps: what both did is folded, what one alone did stands in its column.

What always holds: a step is the same if its key is, whatever its time. What is common is found as `hark diff`
finds it (`hark.diff.order`), in bounded time. Of two steps of one kind that differ it is shown what does
(`hark.report.changed`).
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hark.describe import seconds
from hark.diff.order import Effort, gaps, matched
from hark.report.changed import Pair, differing, pairs, patched
from hark.report.facts import Facts, Step
from hark.report.markup import plural, shown, text

EFFORT: Final = 20_000_000  # steps of `hark.diff.order`, and bytes: some seconds
MAX_CHANGED: Final = 200  # pairs of steps of which it is shown what differs
SHORT: Final = 2  # equal steps that are not folded


class Row(NamedTuple):
    """Steps of the left and of the right; both where they are the same."""

    left: Sequence[Step]
    right: Sequence[Step]
    same: bool


def rows(left: Sequence[Step], right: Sequence[Step], effort: Effort) -> list[Row]:
    """Return two lists of steps laid side by side."""
    paired = matched([one.key for one in left], [one.key for one in right], effort)
    found, x, y = list[Row](), 0, 0
    for ours, theirs in gaps(paired, len(left), len(right)):
        if x < ours.start:
            found.append(Row(left[x : ours.start], right[y : theirs.start], same=True))
        x, y = ours.stop, theirs.stop
        found.append(Row(left[ours.start : x], right[theirs.start : y], same=False))
    return [*found, Row(left[x:], right[y:], same=True)] if x < len(left) else found


def beside(mine: Facts, other: Facts, name: str, other_name: str, roots: tuple[bytes, bytes]) -> str:
    """Return the section: this run left, the other right. `roots` are theirs, as verified."""
    effort = Effort(EFFORT)
    laid = rows(mine.steps, other.steps, effort)
    only = sum(len(row.left) for row in laid if not row.same)
    lacks = sum(len(row.right) for row in laid if not row.same)
    same = sum(len(row.left) for row in laid if row.same)
    words = f"{plural(same, 'step')} the same, {only:,} only in {text(name)}, {lacks:,} only in {text(other_name)}."
    cut = mine.steps_left_out + other.steps_left_out
    note = f'<p class="note">{plural(cut, "later step")} not compared.</p>' if cut else ""
    child = not any(branch.parent == roots[0] for _, _, branch in other.branches)
    look = _Look(effort, child=child)
    body = "".join(_row(row, look, first=at == 0 and row.same) for at, row in enumerate(laid))
    was, now = (other_name, name) if child else (name, other_name)
    legend = f"<del>{text(was)}</del> <ins>{text(now)}</ins>"
    most = "" if look.left else f", the first {MAX_CHANGED} times"
    words = f"{words} What differs in two steps of one kind stands below them{most}: {legend}"
    return (
        f'<p class="note">{words}</p>{_denials(mine, other, other_name)}{_branch(mine, other, roots)}{note}'
        f'<div class="beside"><div class="cols head"><h3>{text(name)}</h3><h3>{text(other_name)}</h3></div>'
        f"{body}</div>"
    )


def _denials(mine: Facts, other: Facts, other_name: str) -> str:
    ours, theirs = ({one.what for one in facts.denials} for facts in (mine, other))
    listed = [
        f"Denied here and not in {text(other_name)}: {text(what)}." for what in sorted(ours - theirs)[:20]
    ]
    listed += [
        f"Denied in {text(other_name)} and not here: {text(what)}." for what in sorted(theirs - ours)[:20]
    ]
    return "".join(f'<p class="bad">{one}</p>' for one in listed)


def _branch(mine: Facts, other: Facts, roots: tuple[bytes, bytes]) -> str:
    said = []
    for facts, where, root in ((mine, "left", roots[1]), (other, "right", roots[0])):
        for seq, _, branch in facts.branches:
            note = f", patch note: {text(branch.note)}" if branch.note else ""
            verified = plural(branch.verified, "action")
            patch = "patched" if branch.patch else "without a patch"
            said.append(
                f'<p class="branching">The {where} run {_of(branch.parent, root)}: live from its event {seq} on, '
                f"event {branch.at} there, {patch}{note}; {verified} found equal before.</p>{patched(branch.patch)}"
            )
    return "".join(said)


def _of(parent: bytes, root: bytes) -> str:
    """Return whose fork a run is: a Branch is the word of whoever signed its bundle."""
    if parent and parent == root:
        return "is a fork of the other, confirmed by its root"
    return f"claims to be a fork of the bundle with root {parent.hex()}, which is not the other"


class _Look:
    """How what differs is looked at: what may still be spent on it, and which side is the later one."""

    def __init__(self, effort: Effort, *, child: bool) -> None:
        self.effort, self.child, self.left = effort, child, MAX_CHANGED

    def differing(self, pair: Pair) -> str:
        """Return what differs in two steps of one kind, the parent's first."""
        if not pair.alike or not self.left:
            return ""
        self.left -= 1
        was, now = (pair.right, pair.left) if self.child else (pair.left, pair.right)
        return differing(was[0], now[0], self.effort)


def _row(row: Row, look: _Look, *, first: bool) -> str:
    if not row.same:
        return "".join(_apart(pair, look) for pair in pairs(row.left, row.right))
    both = f'<div class="cols">{_column(row.left, "left")}{_column(row.right, "right")}</div>'
    if len(row.left) <= SHORT:
        return both
    where = "before the first difference" if first else "in both"
    return f'<details class="fold"><summary>{plural(len(row.left), "step")} {where}, the same</summary>{both}</details>'


def _apart(pair: Pair, look: _Look) -> str:
    """Return steps that are not the same; below two of one kind, what differs in them."""
    more = look.differing(pair)
    below = f'<div class="changed">{more}</div>' if more else ""
    columns = f"{_column(pair.left, 'left')}{_column(pair.right, 'right')}"
    return f'<div class="cols apart">{columns}{below}</div>'


def _column(steps: Sequence[Step], side: str) -> str:
    return f'<ol class="steps">{"".join(_steps(steps, side)) or _NOTHING}</ol>'


def _steps(steps: Sequence[Step], side: str) -> Iterator[str]:
    for step in steps:
        number = f'<a href="#e{step.seq}">{step.seq}</a>' if side == "left" else str(step.seq)
        tone = step.tone if step.tone in ("denied", "model", "end") else ""
        time = shown(seconds(step.time_ns))
        yield f'<li class="{tone}"><b>{number}</b> <i>{time}</i> {text(step.words)}</li>'


_NOTHING: Final = '<li class="none">nothing</li>'
