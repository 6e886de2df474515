"""Errors by whose fault they are, each with the exit code it ends a command with.

One root, `HarkError`: whatever else escapes a command is a bug in hark. The message is one sentence that
names the thing at fault and, where there is one, the next step; `hark.cli` prints it behind `hark: `.
Exit codes are those of the bundle format's "Exit codes" section.
"""

import os
from typing import ClassVar


class HarkError(Exception):
    """Root of every error that a user may see."""

    exit_code: ClassVar[int] = 1


class UsageError(HarkError):
    """The command line does not make sense."""

    exit_code: ClassVar[int] = 2


class ForkError(UsageError):
    """What a fork was asked for makes no sense: no such branch point, or a file that is no patch."""


class PatchError(HarkError):
    """A patch cannot be applied to what was recorded: it matches nothing, or what comes of it is nothing."""

    def __init__(self, what: str, nearest: str = "", step: int = 0) -> None:
        self.what = what
        self.nearest = nearest
        """The text, pointer or header that comes nearest to what was looked for, safe to print."""
        self.step = step
        """Which step of the patch, from 1."""
        begin = f"step {step} of the patch: " if step else ""
        super().__init__(f"{begin}{what}{f'; nearest is {nearest}' if nearest else ''}")


class BundleError(HarkError):
    """The bundle (or proof, or key file) is not what it claims to be."""

    exit_code: ClassVar[int] = 1


class TruncatedError(BundleError):
    """The bundle ends before its footer: its writer was killed. What is there may still verify."""

    exit_code: ClassVar[int] = 3


class PolicyError(HarkError):
    """The operator's policy or secrets cannot be used; the agent was not started."""

    exit_code: ClassVar[int] = 125


class ConfinementError(HarkError):
    """The host cannot confine the agent; the agent was not started."""

    exit_code: ClassVar[int] = 125


class StoppedError(HarkError):
    """A signal asked for the end before the agent was started."""

    exit_code: ClassVar[int] = 130

    def __init__(self, number: int) -> None:
        import signal  # which brings enumerations, and whoever verifies starts without them

        self.status = 128 + number
        """The exit code, as a shell reports the signal."""
        super().__init__(f"{signal.Signals(number).name} came before the agent was started")


class RecordError(HarkError):
    """An event could not be written: the flow that caused it dies and the run is ended."""

    exit_code: ClassVar[int] = 123


class LimitError(RecordError):
    """A limit of the policy's was reached: the run is ended, and what is on record is sealed.

    The message begins with the limit's key in the policy.
    """

    exit_code: ClassVar[int] = 124


class UpstreamError(HarkError):
    """A real server could not be reached or is not who it should be."""

    exit_code: ClassVar[int] = 1


class ReplayError(HarkError):
    """The bundle holds no run that can be replayed here, and what was started of it is ended."""

    exit_code: ClassVar[int] = 4


class UntrustedError(ReplayError):
    """The bundle could be replayed, and nobody whom the caller trusts has said that it should be."""


def no_place(cannot: str, error: OSError, variable: str) -> str:
    """Say what cannot be done for want of a directory, why, and which variable names another."""
    why = os.strerror(error.errno or 0).lower()
    return f"cannot {cannot}: {why}; have HOME or {variable} name a directory of yours that has room"
