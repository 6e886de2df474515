"""Says what time it is, in every way that Python has, before and after a slow answer."""

import datetime
import email.utils
import json
import time
import urllib.request


def now() -> dict[str, object]:
    """The time, in many words. What stands in a list is given to the microsecond."""
    at = datetime.datetime
    return {
        "time": time.time(),
        "time_ns": time.time_ns(),
        "clock_gettime": time.clock_gettime(time.CLOCK_REALTIME),
        "now": at.now().isoformat(),
        "utc": at.now(datetime.timezone.utc).isoformat(),
        "today": datetime.date.today().isoformat(),
        "strftime": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "ctime": time.ctime(),
        "localtime": list(time.localtime()),
        "gmtime": list(time.gmtime()),
        "mail": email.utils.formatdate(usegmt=True),
    }


for path in ("/quick", "/slow", "/quick"):
    with urllib.request.urlopen(
        f"https://api.example{path}", json.dumps(now()).encode(), timeout=60
    ) as answer:
        size = len(answer.read())  # first: each piece that comes moves the clock
        print(json.dumps(now()), answer.status, size)
