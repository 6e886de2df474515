"""Sends a packed body, whose header holds the time, and reads packed answers."""

import gzip
import json
import urllib.request
import zlib

packed = gzip.compress(json.dumps({"text": "again and again " * 200}).encode())
headers = {"Content-Encoding": "gzip", "Content-Type": "application/json", "Accept-Encoding": "gzip, deflate"}
request = urllib.request.Request("https://api.example/packed", packed, headers)
with urllib.request.urlopen(request, timeout=60) as answer:
    assert answer.headers["Content-Encoding"] == "gzip"
    text = gzip.decompress(answer.read())
print(len(packed), text.decode()[:60])
request = urllib.request.Request("https://api.example/deflated", text, headers={"Accept-Encoding": "deflate"})
with urllib.request.urlopen(request, timeout=60) as answer:
    print(zlib.decompress(answer.read()).decode())
