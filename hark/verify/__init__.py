"""Verifying bundles. `verify(path, keys)` gives a `Result`; the numbered list is in `hark.verify.steps`.

What this package imports it pays for at every start of `hark verify`: no dataclasses, argparse or json here.
"""

from hark.verify.result import BROKEN, REJECTED, TRUNCATED, VERIFIED, Finding, Result
from hark.verify.steps import verify

__all__ = ["BROKEN", "REJECTED", "TRUNCATED", "VERIFIED", "Finding", "Result", "verify"]
