"""The shims of languages: where they lie inside, and what loads them."""

from hark.repeatable import language_shims


def test_each_shim_is_shown_where_its_variable_looks_for_it():
    shown = language_shims.files()
    assert f"{language_shims.variables({})['PYTHONPATH']}/sitecustomize.py" in shown
    assert language_shims.variables({})["NODE_OPTIONS"].split()[1] in shown
    assert all(content for content in shown.values())


def test_what_the_environment_has_stays_behind_ours():
    assert language_shims.variables({"PYTHONPATH": "/a:/b"})["PYTHONPATH"] == "/run/hark/shim/python:/a:/b"
    given = language_shims.variables({"NODE_OPTIONS": "--max-old-space-size=99"})
    assert given["NODE_OPTIONS"] == "--require /run/hark/shim/node.cjs --max-old-space-size=99"
