"""A coding agent in small: reads the project, applies a model's edit, runs the tests, reports."""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request


def model(**what: object) -> dict[str, object]:
    """Ask."""
    with urllib.request.urlopen("https://api.example/model", json.dumps(what).encode(), timeout=60) as answer:
        return json.loads(answer.read())


def listing() -> list[str]:
    """Every file of the project, as it comes."""
    return [str(path) for path in pathlib.Path().rglob("*") if "__pycache__" not in path.parts]


def tests() -> dict[str, object]:
    """Run them, as a program of their own."""
    ended = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], capture_output=True, text=True, check=False
    )
    took = [line for line in ended.stderr.splitlines() if not line.startswith("Ran ")]
    return {"code": ended.returncode, "said": took}


first = tests()
print("before", first["code"])
edit = model(files=listing(), source=pathlib.Path("calc.py").read_text(), tests=first)
for path, text in edit["write"].items():
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)
os.chmod("tools/run.sh", 0o755)
os.remove("old.txt")
os.rename("notes.txt", "docs/notes.txt")
second = tests()
shown = subprocess.run(["./tools/run.sh"], capture_output=True, text=True, check=True).stdout
print("after", second["code"], shown.strip())
print(model(files=listing(), tests=second, shown=shown)["verdict"])
