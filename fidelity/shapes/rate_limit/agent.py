"""Keeps to Retry-After, which it reads as seconds and as a date, and says by the clock how long it waited."""

import email.utils
import json
import time
import urllib.error
import urllib.request


def seconds(value: str) -> float:
    """What the header asks for."""
    if value.isdigit():
        return float(value)
    return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())


waited = []
while True:
    body = json.dumps({"waited": waited, "at": time.time()}).encode()
    try:
        with urllib.request.urlopen("https://api.example/work", body, timeout=60) as answer:
            print(answer.status, answer.read().decode())
            break
    except urllib.error.HTTPError as error:
        begun = time.monotonic()
        time.sleep(seconds(error.headers["Retry-After"]))
        waited.append(time.monotonic() - begun >= 0.5)
        print(error.code, waited)
