"""Twelve tasks on a queue that four processes take from: which takes which is nobody's to say."""

import json
import multiprocessing
import os
import random
import time
import urllib.request


def work(number: int) -> str:
    """One task; who had it stands in the request."""
    until = time.monotonic() + 0.005 * (number % 3)
    while time.monotonic() < until:
        pass
    body = json.dumps({"task": number, "worker": os.getpid(), "draw": random.random()}).encode()
    with urllib.request.urlopen("https://api.example/task", body, timeout=60) as answer:
        return f"{number} {json.loads(answer.read())['length'] > 0}"


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        for line in pool.imap_unordered(work, range(12)):
            print(line)
