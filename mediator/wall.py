"""The time of day that rules with `hours` and `until` are judged by: the machine's own, with its zone."""

from datetime import datetime


def local_now() -> datetime:
    """Return the current time in the machine's zone. Setting the machine's clock moves what rules allow."""
    return datetime.now().astimezone()
