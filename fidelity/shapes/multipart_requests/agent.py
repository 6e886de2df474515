"""Uploads a form with two files; the boundary is the library's, and drawn."""

import requests

files = {"first": ("a.txt", b"a" * 1000, "text/plain"), "second": ("b.bin", bytes(range(256)))}
for turn in range(2):
    answer = requests.post("https://api.example/upload", data={"turn": str(turn)}, files=files, timeout=60)
    print(answer.status_code, answer.json())
