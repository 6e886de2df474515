"""The time of day that rules with `hours` and `until` are judged by: the machine's own, with its zone."""

import time
from datetime import datetime, timedelta, timezone


def local_now() -> datetime:
    """Return the current time in the machine's zone. Setting the machine's clock moves what rules allow."""
    seconds = time.time()
    return datetime.fromtimestamp(seconds, timezone(timedelta(seconds=time.localtime(seconds).tm_gmtoff)))
