"""What docs/interop.md lists is what differs, and nothing else does."""

import re
from pathlib import Path

import pytest

from tests.interop import autobahn, docker, grpc_go, http2, kubectl, websocket

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interop.md"


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("name", "suite"), [("websocket", websocket), ("http2", http2)])
def test_the_page_names_every_difference(name, suite):
    listed = PAGE.read_text().partition("<!-- differences -->")[2].partition("<!-- /differences -->")[0]
    wanted = [line for line in listed.splitlines() if line.startswith(f"- {name}: ")]
    found = _differences(name, suite)
    if found != wanted:  # a busy machine answers one case too late, and another one the next time
        found = sorted(set(found) & set(_differences(name, suite)), key=found.index)
    assert found == wanted


def _differences(name, suite):
    return [
        f"- {name}: {case}: without hark {bare}; with it {through}"
        for case, bare, through in suite.answers()
        if bare != through
    ]


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("websocket", len(websocket.cases())),
        ("http2", len(http2.CASES)),
        ("grpc", len(grpc_go.CASES)),
        ("autobahn", autobahn.CASES),
        ("docker", len(docker.CASES)),
        ("kubectl", len(kubectl.CASES)),
    ],
)
def test_the_page_counts_the_cases(name, cases):
    assert re.search(rf"^\| {name} \| {cases} \|", PAGE.read_text(), re.MULTILINE)
