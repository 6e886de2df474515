"""One of the children: draws an identifier, and has curl send it."""

import json
import random
import subprocess
import sys
import uuid

turn, name = sys.argv[1:]
what = json.dumps(
    {"worker": f"{name}-{turn}", "step": 0, "after": "", "id": str(uuid.uuid4()), "draw": random.random()}
)
said = subprocess.run(
    ["curl", "-sS", "--fail", "-d", what, "https://api.example/step"],
    capture_output=True,
    text=True,
    check=True,
)
print(name, turn, said.stdout)
