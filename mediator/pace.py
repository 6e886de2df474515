"""How fast something may go: a bucket of tokens that fills at a rate. Takes time, has no clock.

Always: over any stretch of time no more is let through than `burst` and what the rate makes of the stretch.
"""


class Pace:
    """A bucket, full at first. `rate` is tokens a second, `burst` its size."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled = now

    def take(self, now: float) -> bool:
        """Take one token; False if there was none."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate) - 1
        self._filled = now
        return self._tokens >= 0
