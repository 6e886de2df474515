"""Leaves answers early: with the head, after some bytes, by a pipe that is closed; then says what it saw."""

import http.client
import json
import subprocess
import urllib.request

said = []
for number in range(8):
    with urllib.request.urlopen(f"https://api.example/late?{number}", timeout=60) as answer:
        said.append(f"{number} {answer.status}")
for size in (1, 100, 20_000):
    connection = http.client.HTTPSConnection("api.example", timeout=60)
    connection.request("GET", f"/large?{size}")
    said.append(f"{size} {len(connection.getresponse().read(size))}")
    connection.close()
for version in ("--http1.1", "--http2"):
    curl = ["curl", "-sN", version, f"https://api.example/large?{version}"]
    with subprocess.Popen(curl, stdout=subprocess.PIPE) as process:
        said.append(f"{version} {len(process.stdout.read(100))}")
        process.stdout.close()
print("\n".join(said))
connection = http.client.HTTPSConnection("api.example", timeout=60)
connection.request("POST", "/report", json.dumps(said))
print(connection.getresponse().status)
