"""Codex without a person: it looks, mends a file by a patch, and tries it, through the Responses API."""

from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, Use, responses
from fidelity.serving import built
from fidelity.shape import Outcome, Shape
from fidelity.talks import KEY

LOOK: Final = f"cat ledger.py; {mended.DRAWS}"
PATCH: Final = """apply_patch <<'EOF'
*** Begin Patch
*** Update File: ledger.py
@@
-    return sum(int(line.split()[0]) for line in lines)
+    return sum(int(line.split()[1]) for line in lines)
*** End Patch
EOF"""


def shell(command: str) -> Use:
    """Run a shell line."""
    return Use("exec_command", {"cmd": command})


SCRIPT: Final = {
    "ledger right": [
        Turn("I look.", [shell(LOOK), shell("grep -rn total .")]),
        Turn("I mend.", [shell(PATCH)]),
        Turn("I try.", [shell(mended.TRY)]),
        Turn(mended.DONE),
    ]
}
PROVIDER: Final = (
    'name="key", base_url="https://api.openai.com/v1", env_key="CODEX_KEY", wire_api="responses"'
)


def expect(run: Outcome) -> None:
    """Four turns were asked for, and the file is mended."""
    mended.expect(run, "/v1/responses", turns=4)


SHAPE = Shape(
    about="Codex, unmodified: a patch and shell commands in parallel, through the Responses API",
    serve=built(lambda server: responses(server, SCRIPT), "api.openai.com"),
    expect=expect,
    command=(
        "$npm/.bin/codex",
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        f"model_providers.key={{{PROVIDER}}}",
        "-c",
        'model_provider="key"',
        mended.PROMPT,
    ),
    program="node",
    caller={"REAL_KEY": KEY},
    packages=True,
    not_covered=(
        "codex is a static binary whose tasks run on whichever of its threads is free, and these threads "
        "draw random bytes and read the clock in another order each time; both stand in the identifiers "
        "of its session"
    ),
)
