"""Sends the same request three times; each answer is another, and goes into the summary at the end."""

import json
import urllib.request

ask = json.dumps({"question": "which number comes next?"}).encode()
answers = []
for _ in range(3):
    with urllib.request.urlopen("https://api.example/next", ask, timeout=60) as answer:
        answers.append(json.loads(answer.read()))
print(answers)
with urllib.request.urlopen(
    "https://api.example/summary", json.dumps(answers).encode(), timeout=60
) as answer:
    print(answer.read().decode())
