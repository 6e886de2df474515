"""The time of day that rules with `hours` and `until` are judged by: the machine's own, with its zone."""

import time
from datetime import datetime, timedelta, timezone
from functools import lru_cache


def local_now() -> datetime:
    """Return the current time in the machine's zone. Setting the machine's clock moves what rules allow."""
    seconds = time.time()
    return datetime.fromtimestamp(seconds, _zone(time.localtime(seconds).tm_gmtoff))


@lru_cache(maxsize=8)
def _zone(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset))
