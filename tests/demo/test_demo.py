"""What the demo does around its story: Ctrl-C is a sentence, and what hark says stands where the demo is."""

import pytest

from demo import __main__ as demo


def test_ctrl_c_ends_it_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "main", interrupted)
    assert demo.entry() == 130
    assert capsys.readouterr().err == "\ndemo: interrupted; its folder is removed\n"


def test_what_hark_says_beside_its_output_goes_where_the_demo_does(capfd: pytest.CaptureFixture[str]) -> None:
    demo.show("verify", "nowhere.hark", code=2)
    out, err = capfd.readouterr()
    assert out.startswith("\n$ hark verify nowhere.hark\nhark: ")
    assert err == ""


def test_a_command_that_ends_otherwise_stops_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="should have ended with 0 and ended with"):
        demo.show("verify", "nowhere.hark")
    assert "hark: " in capfd.readouterr().out
