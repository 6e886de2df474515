"""Reads tasks from a pipe, line by line, and asks about each."""

import json
import sys
import urllib.request

for number, line in enumerate(sys.stdin):
    body = json.dumps({"task": line.strip(), "number": number}).encode()
    with urllib.request.urlopen("https://api.example/task", body, timeout=60) as answer:
        print(number, json.loads(answer.read())["length"])
print("end of input")
