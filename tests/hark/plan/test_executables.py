"""What `exec` stands for: files that exist, with what the kernel needs to load them, and nothing guessed."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PolicyError
from hark.plan.executables import MAX_PROGRAMS, elf_interpreter, resolve
from launcher.plan import Access, Grant

SH = os.path.realpath("/bin/sh")


def script(path: Path, first: str = "#!/bin/sh") -> str:
    path.write_text(f"{first}\n")
    path.chmod(0o755)
    return str(path)


def resolved(tmp_path: Path, *entries: str, command: str = "/bin/true", path: str = "/usr/bin:/bin"):
    grants = (Grant("/usr", Access.READ, "system"), Grant(str(tmp_path), Access.WRITE, "project directory"))
    return resolve(entries, command, path, str(tmp_path), grants)


def refusal(tmp_path: Path, *entries: str, **options: str) -> str:
    with pytest.raises(PolicyError) as caught:
        resolved(tmp_path, *entries, **options)
    return str(caught.value)


def test_a_binary_brings_its_loader(tmp_path):
    found = resolved(tmp_path)
    assert os.path.realpath("/bin/true") in found
    assert [path for path in found if "ld-" in path]
    assert len(found) == 2


def test_a_name_is_what_a_shell_would_start_and_links_are_followed(tmp_path):
    (tmp_path / "bin").mkdir()
    tool = script(tmp_path / "tool")
    (tmp_path / "bin" / "shown").symlink_to(tool)
    found = resolved(tmp_path, "shown", "sh", path=f"{tmp_path}/bin:/usr/bin:/bin")
    assert tool in found
    assert SH in found


def test_the_command_s_chain_may_be_executed_and_a_listed_script_s_may_not(tmp_path):
    inner = script(tmp_path / "inner", "#!/usr/bin/env sh")
    outer = script(tmp_path / "outer", f"#!{inner}")
    found = resolved(tmp_path, command=outer)
    assert {outer, inner, os.path.realpath("/usr/bin/env"), SH} <= set(found)
    assert SH not in resolved(tmp_path, outer)


def test_a_pattern_stands_for_the_programs_of_one_directory(tmp_path):
    one, two = script(tmp_path / "t-one"), script(tmp_path / "t-two")
    (tmp_path / "t-data").write_text("no program")
    (tmp_path / "t-dir").mkdir()
    found = resolved(tmp_path, "~/t-*")
    assert {one, two} <= set(found)
    assert not any(path.endswith(("t-data", "t-dir")) for path in found)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("no-such-program", "not found"),
        ("/usr/bin/no-such-program", "no executable file"),
        ("/usr/no-such-*", "no executable file"),
        ("/usr/*/git", "last part"),
        ("gi*", "directory"),
        ("/usr/share", "no executable file"),
    ],
)
def test_an_entry_that_stands_for_nothing_is_refused(tmp_path, entry, said):
    message = refusal(tmp_path, entry)
    assert said in message
    assert entry in message


def test_a_program_that_the_agent_does_not_see_is_refused(tmp_path, tmp_path_factory):
    outside = script(tmp_path_factory.mktemp("outside") / "tool")
    assert "read_paths" in refusal(tmp_path, outside)


def test_a_pattern_cannot_stand_for_any_number_of_programs(tmp_path):
    for number in range(MAX_PROGRAMS + 1):
        script(tmp_path / f"p{number}")
    assert str(MAX_PROGRAMS) in refusal(tmp_path, "~/p*")


@given(st.binary(max_size=200), st.integers(0, 1 << 64), st.integers(0, 1 << 16))
def test_a_hostile_elf_file_has_no_loader_and_does_no_harm(tail, table, count):
    head = b"\x7fELF\x02\x01" + bytes(26) + struct.pack("<Q", table % (1 << 64)) + bytes(14)
    elf_interpreter(head + struct.pack("<HH", 56, count % (1 << 16)) + tail)
    elf_interpreter(tail)
