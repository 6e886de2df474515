"""`hark compare`'s command line: what reaches the forks, and what is refused before any is made."""

import json
from pathlib import Path
from typing import Any

import pytest

from hark.cli.main import entry
from hark.compare.trial import PASSED, Row, Wanted
from tests.support.recordings import bundle


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Wanted]:
    """The forks that would have been made."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    begun: list[Wanted] = []

    def row(wanted: Wanted) -> Row:
        passed = None if wanted.check is None else PASSED
        return Row(wanted.model, "FORKED", "", passed, bundle=wanted.output)

    def fake(wanted: list[Wanted], jobs: int, environ: Any, tell: Any) -> list[Row]:
        begun.extend(wanted)
        return [row(one) for one in wanted]

    monkeypatch.setattr("hark.compare.trial.trials", fake)
    return begun


def test_every_option_reaches_the_forks(begun: list[Wanted], tmp_path: Path) -> None:
    words = ["-at", "12", "-models", "a, b/c", "-patch", "p", "-set", "/x=1", "-set", "/y=2", "-policy", "t"]
    words += ["-upstream", "h=a", "-upstream-ca", "c", "-via-proxy", "-trust-bundle", "-trusted-keys", "k"]
    words += ["-read", "r", "-write", "w", "-workdir", "d", "-key", "y", "-verify", "true", "-jobs", "1"]
    words += ["-timeout", "90"]
    out, keep = tmp_path / "out", tmp_path / "keep"
    path = bundle(tmp_path / "run.hark")
    entry(["compare", *words, "-o", str(out), "-keep", str(keep), path])
    one, two = begun
    assert one.words == (
        "-at=12", "-patch=p", "-set=/x=1", "-set=/y=2", "-policy=t", "-upstream=h=a", "-upstream-ca=c",
        "-trusted-keys=k", "-read=r", "-write=w", "-workdir=d", "-key=y", "-via-proxy", "-trust-bundle",
    )  # fmt: skip
    assert (one.model, two.model, one.check, one.bundle) == ("a", "b/c", "true", path)
    assert (one.output, two.output) == (f"{out}/1-a.hark", f"{out}/2-b_c.hark")
    assert (one.folder, two.folder) == (str(keep), str(keep))
    assert (one.seconds, two.seconds) == (90, 90)


def test_the_words_that_forks_get_are_words_of_hark_fork() -> None:
    from hark.cli import compare, fork

    known = {option.name: option for option in fork.SPEC.options}
    assert [name for name in compare._PASSED_ON if not known[name].value] == []
    assert [name for name in compare._SWITCHES if known[name].value] == []
    left = known.keys() - {*compare._PASSED_ON, *compare._SWITCHES}
    assert left == {"model", "keep", "o", "json", "edit"}  # the trial's own, and what needs a person


def test_every_fork_is_anchored_as_asked(begun: list[Wanted], tmp_path: Path) -> None:
    words = ["-anchor", "-rekor", "http://127.0.0.1:1", "-tsa", "http://127.0.0.1:2"]
    path = bundle(tmp_path / "run.hark")
    entry(["compare", "-at", "1", "-models", "a,b", *words, path])
    passed_on = ("-at=1", "-rekor=http://127.0.0.1:1", "-tsa=http://127.0.0.1:2", "-anchor")
    assert [one.words for one in begun] == [passed_on] * 2


def test_json_has_the_rows_and_a_copy_is_thrown_away(
    begun: list[Wanted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle(tmp_path / "run.hark")
    code = entry(["compare", "-at", "1", "-models", "a", "-repeat", "2", "-json", path])
    told = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in told["rows"]] == ["a", "a"]
    assert (told["exit_code"], code) == (1, 1)  # what could not be measured has not passed
    assert [one.name for one in begun] == ["1-a-1", "1-a-2"]
    assert list((tmp_path / "state/hark/copies").iterdir()) == []


def test_a_price_of_ones_own_counts_before_the_shipped_one_and_that_of_prices_before_both(
    begun: list[Wanted], tmp_path: Path
) -> None:
    path = bundle(tmp_path / "run.hark")
    own = tmp_path / "config" / "hark" / "prices.toml"
    entry(["compare", "-at", "1", "-models", "a", path])
    own.parent.mkdir(parents=True, exist_ok=True)
    price = '[prices.gpt-5]\ncurrency = "USD"\ninput = {}\noutput = 1\ndate = 2026-01-31\nsource = "me"\n'
    own.write_text(price.format(7))
    entry(["compare", "-at", "1", "-models", "a", path])
    named = tmp_path / "named.toml"
    named.write_text(price.format(8))
    entry(["compare", "-at", "1", "-models", "a", "-prices", str(named), path])
    assert begun[0].prices["gpt-5"].example
    assert [one.prices["gpt-5"].input for one in begun[1:]] == [7, 8]
    assert all("gpt-4.1" in one.prices for one in begun)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-models", "a"], "needs -at"),
        (["-at", "1"], "needs -models"),
        (["-at", "1", "-models", "a,a"], "names a twice"),
        (["-at", "1", "-models", "a,,b"], "is no name of a model"),
        (["-at", "1", "-models", "a", "-repeat", "0"], "-repeat needs a whole number from 1"),
        (["-at", "1", "-models", "a", "-timeout", "0"], "-timeout takes a number from 1 to"),
        (["-at", "1", "-models", "a", "-jobs", "0"], "-jobs needs a whole number from 1"),
        (["-at", "1", "-models", "a", "-repeat", "65"], "65 forks are too many"),
        (["-at", "1", "-models", "a", "-prices", "/nowhere"], "/nowhere"),
        (["-at", "1", "-models", "a", "-o", "/"], "-o / exists"),
        (["-at", "1", "-models", "a", "-rekor", "http://127.0.0.1:1"], "-rekor goes only with -anchor"),
        (["-at", "1", "-models", "a", "-anchor", "-tsa", "http://127.0.0.1:1"], "-tsa goes with -rekor"),
        (["-at", "1", "-models", "a", "-keep", "/nowhere/x"], "there is no directory /nowhere"),
    ],
)
def test_what_makes_no_sense_makes_no_fork(
    begun: list[Wanted], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert entry(["compare", *words, bundle(tmp_path / "run.hark")]) == 2
    assert says in capsys.readouterr().err
    assert begun == []
