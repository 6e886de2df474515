"""Makes temporary files and directories, and tells their names; one is in the project."""

import json
import os
import tempfile
import urllib.request

names = [tempfile.mktemp(), tempfile.mkdtemp(), tempfile.NamedTemporaryFile(delete=False).name]
descriptor, path = tempfile.mkstemp(dir=".", suffix=".draft")
os.write(descriptor, b"a draft")
names.append(os.path.basename(path))
with urllib.request.urlopen("https://api.example/names", json.dumps(names).encode(), timeout=60) as answer:
    print(answer.status, len(answer.read()), names)
