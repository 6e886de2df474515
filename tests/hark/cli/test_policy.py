"""`hark policy`: exit codes, places and usage."""

import pytest

from hark.bundle import events as ev
from tests.hark.cli.program import hark
from tests.hark.cli.sample import EVENTS, write

TEXT = 'allow_hosts = ["api.example.com", "*.github.io"]\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(TEXT)
    return path


def test_check_says_what_it_means_and_warns_and_ends_with_0(file):
    code, out, err = hark("policy", "check", file)
    assert (code, err) == (0, "")
    assert f"{file}:1: allowed: all requests to api.example.com:443\n" in out
    assert f"{file}:1: warning: *.github.io allows strangers' servers" in out


def test_explain_ends_with_0_for_what_is_allowed_and_1_for_what_is_not(file):
    code, out, _ = hark("policy", "explain", file, "https://api.example.com/x", "-method", "PUT")
    assert (code, out.splitlines()[0]) == (0, "allowed: PUT of /x at api.example.com:443")
    code, out, _ = hark("policy", "explain", file, "https://b.example.com/x")
    assert (code, out.splitlines()[0]) == (1, "denied: GET of /x at b.example.com:443")


def test_a_file_that_is_no_policy_is_refused_with_its_place(tmp_path):
    (tmp_path / "p.toml").write_text("\n x = 1")
    for words in (("check",), ("explain",)):
        url = ["https://a.example"] if words == ("explain",) else []
        code, out, err = hark("policy", *words, tmp_path / "p.toml", *url)
        assert (code, out) == (125, "")
        assert "p.toml:2:2: x is not a key of a policy" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("chek", "FILE"), "hark policy has no 'chek'"),
        (("check", "FILE", "https://a.example"), "takes a FILE alone"),
        (("check", "FILE", "-method", "GET"), "takes a FILE alone"),
        (("explain", "FILE"), "needs a FILE and a URL"),
        (("explain", "https://a.example", "FILE"), "the policy comes first: hark policy explain FILE URL"),
        (("foo",), "hark policy has no 'foo'; it is one of check, explain, derive"),
        (("check",), "needs FILE"),
        (("derive", "FILE", "https://a.example"), "takes a FILE alone"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_usage(file, words, sentence):
    code, out, err = hark("policy", *(file if word == "FILE" else word for word in words))
    assert (code, out) == (2, "")
    assert sentence in err


def test_a_policy_is_derived_from_a_bundle_that_verifies_alone(tmp_path):
    reached = (
        ev.EgressAttempt("api.example.com", 443, "tls"),
        ev.EgressDecision("api.example.com", allowed=True, rule="--unsafe-allow-all"),
    )
    written = write(tmp_path / "a.hark", (*EVENTS[:-1], *reached, EVENTS[-1]))
    code, out, err = hark("policy", "derive", written)
    assert (code, out) == (0, 'allow_hosts = [\n    "api.example.com",\n]\n'), (out, err)
    assert "VERIFIED" in err
    raw = bytearray(written.read_bytes())
    raw[len(raw) // 2] ^= 1
    written.write_bytes(raw)
    code, out, err = hark("policy", "derive", written)
    assert (code, out) == (1, "")
    assert "does not verify" in err


def test_check_says_what_a_run_would_refuse_here(tmp_path):
    (tmp_path / "p.toml").write_text('read_paths = ["/no/such/place"]\n')
    code, out, _ = hark("policy", "check", tmp_path / "p.toml")
    assert code == 0
    assert "p.toml:1: warning: hark run would refuse here: read_paths names /no/such/place, which does" in out
