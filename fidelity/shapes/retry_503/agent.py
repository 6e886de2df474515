"""Asks until the server can answer, with a growing pause whose length is partly chance."""

import json
import random
import time
import urllib.error
import urllib.request

for attempt in range(5):
    body = json.dumps({"attempt": attempt, "jitter": random.random()}).encode()
    try:
        with urllib.request.urlopen("https://api.example/work", body, timeout=60) as answer:
            print(attempt, answer.status, answer.read().decode())
            break
    except urllib.error.HTTPError as error:
        print(attempt, error.code, error.read().decode())
        time.sleep(0.05 * 2**attempt * (1 + random.random()))
