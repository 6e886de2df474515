"""Reads a stream of 500 events and sends back a hash of them, with the sizes in which they were read."""

import hashlib
import json
import urllib.request

seen = hashlib.sha256()
count = 0
with urllib.request.urlopen("https://api.example/stream", timeout=60) as answer:
    for line in answer:
        seen.update(line)
        if line.startswith(b"data: "):
            count += json.loads(line[6:])["n"] + 1 - count
            if count % 100 == 0:
                body = json.dumps({"events": count, "hash": seen.hexdigest()}).encode()
                urllib.request.urlopen("https://api.example/mark", body, timeout=60).read()
print(count, seen.hexdigest())
