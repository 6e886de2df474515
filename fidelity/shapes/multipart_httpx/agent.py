"""Uploads a form with two files; the boundary is the library's, and drawn."""

import httpx

with httpx.Client(timeout=60) as client:
    files = {"first": ("a.txt", b"a" * 1000, "text/plain"), "second": ("b.bin", bytes(range(256)))}
    for turn in range(2):
        answer = client.post("https://api.example/upload", data={"turn": str(turn)}, files=files)
        print(answer.status_code, answer.json())
