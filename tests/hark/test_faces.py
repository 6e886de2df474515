"""Modules of which some names are there: the rest is the module's own, loaded when it is asked for."""

import subprocess
import sys

import pytest

SHOWN = """
import sys
from hark import faces
faces.show("colorsys", {{"ONE_THIRD": 1 / 3}})
{then}
print(type(sys.modules["colorsys"]).__name__)
"""


def said(then: str) -> list[str]:
    code = SHOWN.format(then=then)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ("from colorsys import ONE_THIRD", "Face"),
        ("import colorsys; colorsys.__doc__, hasattr(colorsys, '__file__')", "Face"),
        ("from colorsys import rgb_to_hls", "module"),
        ("import colorsys; colorsys.rgb_to_hls(0, 0, 0)", "module"),
        ("faces.whole('colorsys')", "module"),
    ],
)
def test_a_name_that_is_not_there_has_the_module_loaded(then: str, kind: str) -> None:
    assert said(then) == [kind]


def test_whoever_holds_the_face_gets_the_modules_own() -> None:
    code = (
        "import colorsys as face; made = face.hls_to_rgb; import colorsys; print(made is colorsys.hls_to_rgb)"
    )
    assert said(code) == ["True", "module"]


def test_a_name_that_the_module_does_not_have_is_an_attribute_error() -> None:
    code = (
        "import colorsys\ntry:\n    colorsys.nothing\nexcept AttributeError as error:\n    print('missing')"
    )
    assert said(code) == ["missing", "module"]


def test_a_module_that_is_loaded_stays_as_it_is() -> None:
    code = "import wave; faces.show('wave', {}); print(type(sys.modules['wave']).__name__)"
    assert said(code) == ["module", "Face"]


def test_a_packages_parts_are_loaded_without_it() -> None:
    code = (
        "import importlib.util; folders = importlib.util.find_spec('wsgiref').submodule_search_locations\n"
        "faces.show('wsgiref', {}, folders)\nimport wsgiref.headers\n"
        "print(type(sys.modules['wsgiref']).__name__, wsgiref.headers.Headers.__name__)"
    )
    assert said(code) == ["Face", "Headers", "Face"]
