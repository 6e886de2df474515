"""A tree of processes: this one starts a shell, which starts two children at once; each starts curl."""

import os
import subprocess
import sys
import uuid

env = dict(os.environ) | {"PYTHON": sys.executable}
for turn in range(2):
    print(turn, uuid.uuid4())
    ended = subprocess.run(["sh", "work.sh", str(turn)], env=env, capture_output=True, text=True, check=True)
    print("".join(sorted(ended.stdout.splitlines(keepends=True))), end="")
