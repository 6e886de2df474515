"""Two runs side by side, by their steps: what both did is folded, what one alone did stands in its column.

What always holds: a step is the same if its key is, whatever its time. Up to the first difference, which of a
fork and its parent lies behind the branch point, steps are compared in order; behind it, `difflib` finds what is
common, over `MAX_ALIGNED` steps of each side at most, and it is said where there were more. Of two steps of one
kind that differ it is shown what does (`hark.report.changed`).
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from hark.describe import seconds
from hark.diff.order import Effort
from hark.report.changed import Pair, differing, pairs, patched
from hark.report.facts import Facts, Step
from hark.report.markup import plural, shown, text

MAX_ALIGNED: Final = 1_500  # difflib's time grows with the square
SHORT: Final = 2  # equal steps that are not folded


class Row(NamedTuple):
    """Steps of the left and of the right; both where they are the same."""

    left: Sequence[Step]
    right: Sequence[Step]
    same: bool


def rows(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    """Return two lists of steps laid side by side."""
    prefix = next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one.key != other.key),
        min(len(left), len(right)),
    )
    found = [Row(left[:prefix], right[:prefix], same=True)] if prefix else []
    left, right = left[prefix:], right[prefix:]
    ours, theirs = left[:MAX_ALIGNED], right[:MAX_ALIGNED]
    matcher = SequenceMatcher(None, [one.key for one in ours], [one.key for one in theirs], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        found.append(Row(ours[a:b], theirs[c:d], same=tag == "equal"))
    if len(left) > MAX_ALIGNED or len(right) > MAX_ALIGNED:
        found.append(Row(left[MAX_ALIGNED:], right[MAX_ALIGNED:], same=False))
    return found


def beside(mine: Facts, other: Facts, name: str, other_name: str, roots: tuple[bytes, bytes]) -> str:
    """Return the section: this run left, the other right. `roots` are theirs, as verified."""
    laid = rows(mine.steps, other.steps)
    only = sum(len(row.left) for row in laid if not row.same)
    lacks = sum(len(row.right) for row in laid if not row.same)
    same = sum(len(row.left) for row in laid if row.same)
    words = f"{plural(same, 'step')} the same, {only:,} only in {text(name)}, {lacks:,} only in {text(other_name)}."
    cut = mine.steps_left_out + other.steps_left_out
    note = f'<p class="note">{plural(cut, "later step")} not compared.</p>' if cut else ""
    effort = Effort()
    child = not any(branch.parent == roots[0] for _, _, branch in other.branches)
    body = "".join(_row(row, effort, first=at == 0 and row.same, child=child) for at, row in enumerate(laid))
    was, now = (other_name, name) if child else (name, other_name)
    legend = f"<del>{text(was)}</del> <ins>{text(now)}</ins>"
    words = f"{words} What differs in two steps of one kind stands below them: {legend}"
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


def _row(row: Row, effort: Effort, *, first: bool, child: bool) -> str:
    if not row.same:
        return "".join(_apart(pair, effort, child=child) for pair in pairs(row.left, row.right))
    both = f'<div class="cols">{_column(row.left, "left")}{_column(row.right, "right")}</div>'
    if len(row.left) <= SHORT:
        return both
    where = "before the first difference" if first else "in both"
    return f'<details class="fold"><summary>{plural(len(row.left), "step")} {where}, the same</summary>{both}</details>'


def _apart(pair: Pair, effort: Effort, *, child: bool) -> str:
    """Return steps that are not the same; below two of one kind, what differs in them, the parent's first."""
    was, now = (pair.right, pair.left) if child else (pair.left, pair.right)
    more = differing(was[0], now[0], effort) if pair.alike else ""
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
