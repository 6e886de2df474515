"""Looks at the status of each answer and goes away without reading its body."""

import urllib.request

for number in range(5):
    body = f"note {number}".encode()
    with urllib.request.urlopen("https://api.example/note", body, timeout=60) as answer:
        print(number, answer.status)
