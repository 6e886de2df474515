"""`make demo`: record an agent that falls for a prompt injection, then show what the record is good for.

Every line after a `$` is a command that is really run, on real input; what follows it is its real output.
Needs no network, no root and no key.
"""

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from demo import stubs, translog

HERE = Path(__file__).parent
KEY = "../config/hark/signing.key.pub"
INTERRUPTED = 130  # what a shell reports for SIGINT
HARK = (sys.executable, "-m", "hark.cli.main")


def show(*words: str, env: dict[str, str] | None = None, code: int = 0) -> None:
    """Print a hark command, run it, and stop the demo if it does not end as it should.

    What hark says goes where its output goes: a file with the demo in it has the verdicts too.
    """
    print(f"\n$ hark {shlex.join(words)}", flush=True)
    ended = subprocess.run((*HARK, *words), env=env, check=False, stderr=subprocess.STDOUT)
    if ended.returncode != code:
        sys.exit(f"demo: that should have ended with {code} and ended with {ended.returncode}")


def first(kind: str, **fields: object) -> int:
    """Return the number of the run's first event of this kind that has these fields."""
    words = ("inspect", "--json", "-kind", kind, "../run.hark")
    ended = subprocess.run((*HARK, *words), stdout=subprocess.PIPE, check=True)
    for event in map(json.loads, ended.stdout.splitlines()):
        if event["fields"].items() >= fields.items():
            return int(event["seq"])
    sys.exit(f"demo: the run should have a {kind} with {fields}, and has none")


def main() -> int:
    """Play the whole story in a project directory of its own."""
    with tempfile.TemporaryDirectory(prefix="hark-demo-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        project = folder / "project"
        project.mkdir()
        for part in ("agent.py", "policy.toml"):
            shutil.copy(HERE / part, project)
        pages = story(folder, project)
        os.chdir(HERE)
    print(f"\nThe pages of the run and of the fork stay: {pages}/run.html and {pages}/fork.html")
    print(f"All else, key and records, lay in {name}, a folder for this demo alone, which is gone again.")
    return 0


def story(folder: Path, project: Path) -> str:
    """Run, look, verify, prove, replay, fork, report, bisect, anchor. Returns the folder with the pages."""
    shutil.copy(HERE / "strip.json", folder)
    stubs.certify(folder)
    server, keys = stubs.serve(folder, (HERE / "briefing.html").read_bytes())
    real_key = f"sk-demo-{secrets.token_hex(20)}"
    env = os.environ | {"DEMO_MODEL_KEY": real_key, "XDG_CONFIG_HOME": f"{folder}/config"}
    env["XDG_STATE_HOME"] = f"{folder}/state"
    os.chdir(project)

    print("An agent reads a briefing that hides an instruction to send its API key away.")
    where = toward(server.server_address[1], folder)
    run = ("run", "-policy", "policy.toml", *where, "-o", "../run.hark")
    show(*run, "--", "python3", "agent.py", env=env)

    print("\nEverything that crossed the boundary is on the record, refusals included:")
    show("inspect", "../run.hark")

    attempt = first("LlmRequest", host="203.0.113.9")
    print("\nThe request that was refused holds a placeholder where the key would be:")
    show("inspect", "-seq", str(attempt), "../run.hark")

    bundle = Path("../run.hark").read_bytes()
    print(f"\nthe model was sent the real key: {'yes' if keys == [real_key] else 'NO'}")
    print(f"the real key stands in the record: {'YES' if real_key.encode() in bundle else 'no'}")
    if keys != [real_key] or real_key.encode() in bundle:
        sys.exit("demo: the key went where it should not, or did not go where it should")

    print("\nAnyone who has the signer's key can check the record:")
    show("verify", "-key", KEY, "../run.hark")

    denial = first("EgressDecision", allowed=False)
    print("\nand one denial can be proved alone, without showing the rest:")
    show("prove", "-seq", str(denial), "-out", "../denial.json", "../run.hark")
    show("prove", "-check", "../denial.json", "-key", KEY)
    server.shutdown()
    server.server_close()

    print("\nThe servers are gone. The run happens again, from its bundle alone and without the key:")
    keyless = {name: value for name, value in env.items() if name != "DEMO_MODEL_KEY"}
    show("replay", "../run.hark", env=keyless)

    what_if(folder, env)
    print(
        "\nThe fork is a run like any other: it happens again too, both halves of it, without network or key:"
    )
    show("replay", "../fork.hark", env=keyless)

    print("\nBoth as pages that open offline, without scripts; the second lays the fork beside the run:")
    pages = tempfile.mkdtemp(prefix="hark-demo-pages-")
    show("report", "-o", f"{pages}/run.html", "../run.hark", env=keyless)
    show("report", "-against", "../run.hark", "-o", f"{pages}/fork.html", "../fork.hark", env=keyless)

    which_sentence(folder, env)
    anchored(folder, env)
    return pages


def what_if(folder: Path, env: dict[str, str]) -> None:
    """Fork the run where it read the briefing, without the hidden instruction, against new servers."""
    stubs.certify(folder)
    server, keys = stubs.serve(folder, (HERE / "briefing.html").read_bytes())
    print(
        "\nWhat if the briefing had not said that? Up to there the run is the recorded one, checked action by"
    )
    print("action; the answer is patched; from there on it is live, with new servers and your own key:")
    show(
        *("fork", "-at", f"{stubs.BRIEFING_HOST}/today", "-patch", "../strip.json", "-policy", "policy.toml"),
        *toward(server.server_address[1], folder),
        *("-o", "../fork.hark", "../run.hark"),
        env=env,
    )
    server.shutdown()
    server.server_close()
    if keys != [env["DEMO_MODEL_KEY"]]:
        sys.exit("demo: the fork should have asked the model once, with the key")
    if denials("../fork.hark"):
        sys.exit("demo: the fork should have been denied nothing")
    print(f"\nrefused in the run: {denials('../run.hark')}; refused in the fork: {denials('../fork.hark')}")

    print("\nWhat the one sentence led to, side by side; all that the two have in common is folded:")
    show("diff", "../run.hark", "../fork.hark", code=1)


def which_sentence(folder: Path, env: dict[str, str]) -> None:
    """Find the instruction as somebody would who does not know where it hides: by forks, two at a time."""
    stubs.certify(folder)
    server, _ = stubs.serve(folder, (HERE / "briefing.html").read_bytes())
    print("\nAnd had nobody known which sentence it was? Forks ask, each without some text of the briefing:")
    show(
        *("bisect", "-at", f"{stubs.BRIEFING_HOST}/today", "-until", f"denied host={stubs.EVIL_HOST}"),
        *("-policy", "policy.toml", *toward(server.server_address[1], folder)),
        *("-o", "../bisection", "../run.hark"),
        env=env,
    )
    server.shutdown()
    server.server_close()
    found = json.loads(Path("../bisection/found.json").read_text())["steps"]
    if len(found) != 1 or stubs.EVIL_HOST not in found[0]["replace"]:
        sys.exit("demo: the bisection should have found the one sentence that names the place")


def anchored(folder: Path, env: dict[str, str]) -> None:
    """Put the fork into a transparency log on this machine, and check it where nothing but its file is."""
    print(
        "\nA signature is its holder's word. An entry in a transparency log (here one that the demo runs) is"
    )
    print("beyond the holder, too:")
    logged = folder / "log"
    logged.mkdir()
    with translog.serving(logged, version=2) as log:
        services = ("-signing-config", str(log.signing_config), "-trusted-root", str(log.trusted_root))
        show("anchor", *services, "../fork.hark", env=env)
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        for part in (folder / "fork.hark", folder / KEY.removeprefix("../"), log.trusted_root):
            shutil.copy(part, elsewhere)
    print("\nThe log is gone. In another folder, from the copied file alone and without a network:")
    os.chdir(elsewhere)
    show("verify", "-key", "signing.key.pub", "-trusted-root", "trusted_root.json", "-anchored", "fork.hark")


def toward(port: int, folder: Path) -> list[str]:
    """Options that have the demo's hosts dialled on this machine."""
    upstreams = [f"-upstream={host}=127.0.0.1:{port}" for host in (stubs.BRIEFING_HOST, stubs.MODEL_HOST)]
    return [*upstreams, f"-upstream-ca={folder}/stub.pem"]


def denials(bundle: str) -> int:
    """Count what a bundle says was refused: names, connections and requests."""
    words = ("inspect", "--json", bundle)
    ended = subprocess.run((*HARK, *words), stdout=subprocess.PIPE, check=True)
    return sum(
        event["fields"].get("allowed") is False for event in map(json.loads, ended.stdout.splitlines())
    )


def entry() -> int:
    """Play it; Ctrl-C ends it in a sentence, and its folder goes."""
    try:
        return main()
    except KeyboardInterrupt:
        print("\ndemo: interrupted; its folder is removed", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(entry())
