"""What a header says of the bundle that its run was forked from.

Always: a header that names no root is that of a run of its own. Whether the header is under a hash is for
`hark.verify` to say.
"""

from typing import NamedTuple

from hark.bundle.header import Header


class Lineage(NamedTuple):
    """Where a run comes from. Without a root, from nowhere."""

    parent_root: bytes = b""
    """Root of the bundle that the run was forked from."""
    fork_point: int = 0
    """The event of that bundle at which it went its own way."""
    patch_hash: bytes = b""
    """leaf(0, 0, the patch); empty without one."""

    def words(self) -> str:
        """What a person is told; empty for a run that is no fork."""
        if not self.parent_root:
            return ""
        patch = f"with the patch {self.patch_hash.hex()}" if self.patch_hash else "without a patch"
        return (
            f"a fork of the bundle with root {self.parent_root.hex()} at its event {self.fork_point}, {patch}"
        )

    def record(self) -> dict[str, object] | None:
        """The same for a program; None for a run that is no fork."""
        if not self.parent_root:
            return None
        return {
            "parent_root": self.parent_root.hex(),
            "fork_point": self.fork_point,
            "patch_hash": self.patch_hash.hex() or None,
        }


ORIGINAL = Lineage()
"""That of a run which is no fork."""


def lineage_of(header: Header) -> Lineage:
    """The lineage that stands in `header`."""
    return Lineage(header.parent_root, header.fork_point, header.patch_hash)
