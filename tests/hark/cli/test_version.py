"""The version report."""

import os
import sys

import hark as package
from tests.hark.cli.program import hark


def test_version_prints_what_a_bug_report_needs_in_plain_lines():
    code, out, err = hark("version")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"hark {package.__version__}"
    assert lines[1] == "bundle format 1"
    assert lines[2].split() == [sys.implementation.name, ".".join(map(str, sys.version_info[:3]))]
    assert os.uname().release in lines[3]
    assert hark("--version").out == out


def test_version_takes_no_argument():
    assert hark("version", "x").code == 2
