"""How two bundles are related: a fork and what it was made of, or two forks of one run.

What always holds: it is read from the roots and the Branch events that were verified with the bundles, and
every word is safe to print. Which bundle was named first changes the words and not what is found. A Branch is
the word of whoever signed its bundle: it is called confirmed where the bundle with the root that it names is
the other one, which was verified, and a claim where it is not.
"""

from collections.abc import Iterator

from hark.bundle.events import Branch
from hark.diff.side import Side
from hark.visible import visible


def sentences(one: Side, other: Side) -> Iterator[str]:
    """Yield how the second bundle (B) is related to the first (A), and what is noted on each branch."""
    for names, child, parent in (("B A", other, one), ("A B", one, other)):
        for _, branch in child.branches:
            if branch.parent and branch.parent == parent.verified.root:
                first, second = names.split()
                if branch.at >= parent.verified.events:
                    claim = f"{first} claims to be a fork of {second} {_where(branch)}"
                    yield f"{claim}, an event that {second} has not"
                    continue
                yield f"{first} is a fork of {second} {_where(branch)}, confirmed by its root{_note(branch)}"
    places = {(branch.parent, branch.at): branch for _, branch in reversed(other.branches) if branch.parent}
    for _, left in one.branches:
        right = places.pop((left.parent, left.at), None)
        if right is not None:
            root = left.parent.hex()[:12]
            yield f"both claim to be forks of the run with root {root}... {_where(left)}"
            yield from (
                f"{name}{_note(branch)}" for name, branch in (("A", left), ("B", right)) if branch.note
            )


def _where(branch: Branch) -> str:
    return f"from its event {branch.at} on ({visible(branch.side)})"


def _note(branch: Branch) -> str:
    return f": {visible(branch.note)}" if branch.note else ""
