"""Eight threads over one pool of connections, each with draws from the module's one generator."""

import concurrent.futures
import random
import uuid

import requests

session = requests.Session()


def work(number: int) -> list[str]:
    """Three steps, each with the ticket of the one before."""
    tickets = [""]
    for step in range(3):
        what = {"worker": number, "step": step, "after": tickets[-1], "id": str(uuid.uuid4())}
        what["draw"] = random.random() if number == 0 else random.Random().random()
        answer = session.post("https://api.example/step", json=what, timeout=60)
        tickets.append(answer.json()["ticket"])
    return tickets


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for number, tickets in enumerate(pool.map(work, range(8))):
        print(number, tickets)
