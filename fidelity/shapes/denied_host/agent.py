"""Tries a host that it may not reach, a path that it may not use, an address and a port, and goes on."""

import json
import socket
import urllib.error
import urllib.request

tried = []
for url in (
    "https://evil.example/",
    "https://api.example/secret",
    "http://192.0.2.7/",
    "https://api.example/open",
):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            tried.append(f"{answer.status} {answer.read().decode()}")
    except urllib.error.HTTPError as error:
        tried.append(f"{error.code} {error.read().decode().splitlines()[0]}")
    except urllib.error.URLError as error:
        tried.append(str(error.reason))
try:
    socket.create_connection(("192.0.2.7", 2525), timeout=60).recv(1)
    tried.append("connected")
except OSError as error:
    tried.append(type(error).__name__)
print("\n".join(tried))
urllib.request.urlopen("https://api.example/open", json.dumps(tried).encode(), timeout=60).read()
