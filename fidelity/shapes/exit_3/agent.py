"""Fails: asks, does not like the answer, and ends with 3."""

import sys
import urllib.request

with urllib.request.urlopen("https://api.example/verdict", b"{}", timeout=60) as answer:
    print("verdict:", answer.read().decode())
print("giving up", file=sys.stderr)
sys.exit(3)
