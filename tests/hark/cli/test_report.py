"""`hark report`: the page as a file, with the verdict as `hark verify` prints it."""

import html
import json
import re
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from hark.bundle.bounds import KIND_NAMES
from hark.bundle.tree_head import SigningKey
from hark.cli.main import entry
from hark.verify.steps import verify
from tests.hark.report.story import events
from tests.support.recordings import bundle
from tests.support.rerecorded import retell


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_the_page_has_the_verdict_as_verify_prints_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    entry(["verify", path])
    said = capsys.readouterr().out.splitlines()
    assert entry(["report", path]) == 0
    out = tmp_path / "run.html"
    page = html.unescape(out.read_text())
    assert [line for line in said if line.strip() and line.strip() not in page] == []
    assert out.stat().st_mode & 0o077 == 0
    assert "<script" not in page


def test_the_events_of_the_page_are_those_that_inspect_lists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    assert entry(["inspect", "-json", path]) == 0
    inspected = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert entry(["report", path]) == 0
    page = (tmp_path / "run.html").read_text()
    shown = re.findall(r'id="e(\d+)"><summary><b>\d+</b><i>[^<]*</i><em>(\w+)</em>', page)
    assert [(int(seq), kind) for seq, kind in shown] == [
        (one["seq"], KIND_NAMES[one["kind"]]) for one in inspected
    ]
    assert shown


def _inspected(path: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert entry(["inspect", "-json", path]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [event | event["fields"] for event in events]


def _counted(inspected: list[dict[str, Any]]) -> dict[str, Any]:
    """What the summary should say, counted by hand from what `hark inspect -json` prints."""
    by_kind = Counter(KIND_NAMES[event["kind"]] for event in inspected)
    denied = [event for event in inspected if event.get("allowed") is False]
    bodies = [
        json.loads(text)
        for event in inspected
        if (text := event.get("data", {}).get("text", "")).startswith("{")
    ]
    usage = [body["usage"] for body in bodies]
    (end,) = [event for event in inspected if "exit_code" in event]
    return {
        "command": " ".join(inspected[0]["argv"]),
        "where": inspected[0]["working_dir"],
        "recorder": inspected[0]["recorder"],
        "how it ended": f"the run ended with exit code {end['exit_code']}",
        "duration": f"{inspected[-1]['time_ns'] / 1e9:,.3f} s",
        "events": str(len(inspected)),
        "exchanges": f"{by_kind['LlmResponseEnd']}, 0 refused by hark",
        "denials": str(len(denied)),
        "uses of secrets": str(by_kind["SecretInjected"]),
        "tokens": f"{sum(map(itemgetter('input_tokens'), usage))} in, "
        f"{sum(map(itemgetter('output_tokens'), usage))} out",
        "denied at": [event["seq"] for event in denied],
        "hosts": dict(Counter(event["host"] for event in inspected if "method" in event)),
    }


def _said(page: str) -> dict[str, Any]:
    """The same of a page."""
    rows = re.findall(r"<dt>([^<]*)</dt><dd class=\"[^\"]*\">(.*?)</dd>", page)
    tables = {
        name: re.findall(r"<tr>(<td>.*?)</tr>", body)
        for name, body in re.findall(r"<caption>([^<]*)</caption>(.*?)</table>", page)
    }
    hosts = [re.findall(r"<td>([^<]*)</td>", row) for row in tables["Hosts"]]
    return {name: html.unescape(re.sub("<[^>]*>", "", value)) for name, value in rows} | {
        "denied at": [
            int(found) for row in tables.get("Denied", ()) for found in re.findall(r"#e(\d+)", row)
        ],
        "hosts": {host: int(count) for host, count in hosts},
    }


@pytest.mark.parametrize("obeys", [True, False])
def test_the_summary_is_what_inspect_counts_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], obeys: bool
) -> None:
    path = bundle(tmp_path / "run.hark", *events(obeys=obeys))
    other = bundle(tmp_path / "other.hark", *events(obeys=not obeys))
    assert entry(["report", path]) == 0
    said = _said((tmp_path / "run.html").read_text())
    counted = _counted(_inspected(path, capsys))
    assert {name: said[name] for name in counted} == counted
    of_another = _counted(_inspected(other, capsys))  # the control
    assert {name for name in counted if said[name] != of_another[name]} >= {"events", "denials", "denied at"}


def test_a_fork_is_laid_beside_its_parent(tmp_path: Path) -> None:
    run = bundle(tmp_path / "run.hark", *events())
    fork = bundle(tmp_path / "fork.hark", *events(obeys=False))
    assert entry(["report", "-against", run, "-o", str(tmp_path / "page.html"), fork]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Denied in run.hark and not here: collect.evil.example." in page


def test_a_page_that_is_there_is_kept_and_a_broken_bundle_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    out = tmp_path / "run.html"
    out.write_text("mine")
    assert entry(["report", path]) == 2
    assert out.read_text() == "mine"
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 1
    broken = tmp_path / "broken.hark"
    broken.write_bytes(data)
    assert entry(["report", str(broken)]) == 1
    assert "does not verify" in capsys.readouterr().err
    assert not (tmp_path / "broken.html").exists()


def test_the_key_that_is_asked_for_must_have_signed_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = bundle(tmp_path / "run.hark", *events()), tmp_path / "other.hark"
    retell(run, other, key=SigningKey(bytes(range(2, 34))))
    signer, stranger = (verify(str(path)).public_key.hex() for path in (run, other))
    page = str(tmp_path / "page.html")
    assert entry(["report", "-key", signer, "-against", str(other), "-o", page, run]) == 1
    assert "other.hark, which does not verify: REJECTED" in capsys.readouterr().err
    assert not Path(page).exists()
    both = ["-key", signer, "-key", stranger]
    assert entry(["report", *both, "-against", str(other), "-o", page, run]) == 0
