"""Eight threads, each with requests, draws and identifiers of its own; each goes on from what it was told."""

import json
import random
import threading
import urllib.request
import uuid

results: dict[int, list[str]] = {}


def ask(**what: object) -> str:
    """POST, and what came back."""
    with urllib.request.urlopen("https://api.example/step", json.dumps(what).encode(), timeout=60) as answer:
        return str(json.loads(answer.read())["ticket"])


def work(number: int) -> None:
    """Three steps, each with the ticket of the one before."""
    tickets = [""]
    for step in range(3):
        tickets.append(
            ask(
                worker=number,
                step=step,
                after=tickets[-1],
                id=str(uuid.uuid4()),
                draw=random.Random().random(),
            )
        )
    results[number] = tickets


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number in sorted(results):
    print(number, results[number])
