"""Two threads that race in memory for who is first, a hundred times, and a request that tells who won."""

import json
import sys
import threading
import urllib.request

sys.setswitchinterval(1e-6)
won: list[str] = []


def run(name: str, gate: threading.Barrier) -> None:
    """Wait for the other, then work, then write the name down."""
    gate.wait()
    total = 0
    for number in range(2000):
        total += number * number
    won.append(name)


for _ in range(100):
    gate = threading.Barrier(2)
    threads = [threading.Thread(target=run, args=(name, gate)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
order = "".join(won)
with urllib.request.urlopen(
    "https://api.example/won", json.dumps({"order": order}).encode(), timeout=60
) as answer:
    print(order, answer.status, len(answer.read()))
