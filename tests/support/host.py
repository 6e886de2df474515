"""What the host must be able to do for tests that run against the kernel: asked once, as `hark doctor` asks.

A host that cannot is a reason for these tests to fail, not to be skipped: silence would read as containment.
"""

import functools

from launcher.doctor import State, check


@functools.cache
def what_is_missing() -> str | None:
    """What the doctor says is missing or unknown, or None: a sentence for the person who runs the tests."""
    found = [f"{finding.name}: {finding.words}" for finding in check() if finding.state is not State.OK]
    return "; ".join(found) or None
