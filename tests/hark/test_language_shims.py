"""The shims of languages: where they lie inside, and what loads them."""

from hark import language_shims


def test_each_shim_is_shown_where_its_variable_looks_for_it():
    shown = language_shims.files()
    assert f"{language_shims.variables({})['PYTHONPATH']}/sitecustomize.py" in shown
    assert all(content for content in shown.values())


def test_what_the_environment_has_stays_behind_ours():
    assert language_shims.variables({"PYTHONPATH": "/a:/b"})["PYTHONPATH"] == "/run/hark/shim/python:/a:/b"
