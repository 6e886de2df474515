"""Sends five megabytes of chance, gets five megabytes of something else, and sends back the hash of that."""

import hashlib
import os
import random
import urllib.request

body = os.urandom(1 << 20) + random.Random().randbytes(4 << 20)
print("sending", len(body), hashlib.sha256(body).hexdigest())
with urllib.request.urlopen("https://api.example/up", body, timeout=60) as answer:
    got = answer.read()
print("got", len(got), hashlib.sha256(got).hexdigest())
report = hashlib.sha256(got).hexdigest().encode()
urllib.request.urlopen("https://api.example/report", report, timeout=60).read()
