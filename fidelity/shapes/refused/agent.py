"""Meets a server that is not there, says so to one that is, and tries again."""

import json
import urllib.error
import urllib.request

said = []
for url in ("https://gone.example/a", "https://gone.example/a", "https://api.example/a"):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            said.append(f"{answer.status}")
    except urllib.error.HTTPError as error:
        said.append(f"{error.code} {error.read().decode().splitlines()[0]}")
    except (urllib.error.URLError, OSError) as error:
        said.append(f"{type(error).__name__} {error}")
print("\n".join(said))
urllib.request.urlopen("https://api.example/report", json.dumps(said).encode(), timeout=60).read()
