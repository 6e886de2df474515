"""Draws from every source of chance that Python has, again and again."""

import json
import os
import random
import secrets
import urllib.request
import uuid


def draws() -> dict[str, object]:
    """One of each."""
    shuffled = list(range(20))
    random.shuffle(shuffled)
    return {
        "secrets": secrets.token_hex(16),
        "choice": secrets.choice("abcdefghijklmnop"),
        "below": secrets.randbelow(10**9),
        "system": random.SystemRandom().random(),
        "urandom": os.urandom(16).hex(),
        "getrandom": os.getrandom(16).hex(),
        "uuid4": str(uuid.uuid4()),
        "module": random.random(),
        "own": random.Random().random(),
        "gauss": random.gauss(0, 1),
        "shuffled": shuffled,
        "hash": hash("a text"),
        "set": list({"one", "two", "three", "four", "five", "six"}),
        "address": id(object()),
        "device": open("/dev/urandom", "rb").read(16).hex(),
        "other device": open("/dev/random", "rb").read(16).hex(),
        "pid": os.getpid(),
    }


for turn in range(3):
    body = json.dumps(draws()).encode()
    with urllib.request.urlopen("https://api.example/draws", body, timeout=60) as answer:
        print(turn, answer.status, len(answer.read()), body.decode())
