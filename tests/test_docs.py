"""Documentation runs: what README and docs/ show is what the program does, and what they name exists."""

import os
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hark.bundle.events import KINDS
from hark.errors import PolicyError
from hark.policy import parse
from tests.support.docs import DEMO, Block, agree, blocks, shown

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCKS = [block for document in DOCUMENTS for block in blocks(ROOT, document)]
POLICY = [block for block in BLOCKS if block.info == ("toml", "policy")]
REFUSED = [block for block in BLOCKS if block.info == ("toml", "refused")]
NEXT = "next"
"""Behind a fence's language: the block goes on where the one before it in the document ended."""


def stories(found: list[Block]) -> list[list[Block]]:
    """Console blocks, each with those that go on from it: commands, or `python agent.py next`, a file."""
    told: list[list[Block]] = []
    for block in found:
        if block.info[-1:] == (NEXT,):
            told[-1].append(block)
        elif block.info[:1] == ("console",):
            told.append([block])
    return told


CONSOLE = stories(BLOCKS)


def place(block: Block) -> str:
    return block.where


def beginning(story: list[Block]) -> str:
    return story[0].where


@pytest.mark.parametrize("block", POLICY, ids=place)
def test_an_example_of_a_policy_is_one(block: Block) -> None:
    assert parse.parse_policy(block.text.encode(), block.where).raw == block.text.encode()


@pytest.mark.parametrize("block", REFUSED, ids=place)
def test_an_example_of_a_refused_policy_is_refused(block: Block) -> None:
    with pytest.raises(PolicyError, match=re.escape(block.where)):
        parse.parse_policy(block.text.encode(), block.where)


def test_there_are_examples_of_both_kinds() -> None:
    assert (len(POLICY) > 2, len(REFUSED) > 2) == (True, True)


@pytest.mark.parametrize("key", parse.KEYS)
def test_the_policy_page_has_a_word_on_every_key(key: str) -> None:
    text = (ROOT / "docs" / "policy.md").read_text()
    headings = " ".join(line for line in text.splitlines() if line.startswith("## "))
    assert re.search(rf"`\[*{key}", headings)


def test_the_format_page_lists_every_kind_with_its_keys_as_the_code_has_them() -> None:
    text = (ROOT / "docs" / "format.md").read_text()
    table = text.partition("<!-- kinds -->")[2].partition("<!-- /kinds -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if re.match(r"\| \d", line)]
    documented = {int(number): (name, _keys(fields)) for number, name, fields in rows}
    coded = {
        kind.number: (kind.name, list(zip(kind.layout, map(_plain, kind.event._fields), strict=True)))
        for kind in KINDS
    }
    assert documented == coded


def _keys(fields: str) -> list[tuple[int, str]]:
    """`Host, Port, 32 RawHeaders` as keys and names: counted from 1 where no number stands before."""
    keys: list[tuple[int, str]] = []
    for field in fields.split(", "):
        number, _, name = field.rpartition(" ")
        keys.append((int(number) if number else len(keys) + 1, _plain(name)))
    return keys


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_links_to_and_names_exists(document: Path) -> None:
    text = document.read_text()
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []
    named = re.findall(r"`((?:hark|mediator|launcher|tests|docs|demo|\.ci)/[\w./-]*\w(?:/|\.\w+)?)`", text)
    missing = [path for path in named if not (ROOT / path).exists() and not path.startswith("hark/_shims")]
    assert missing == []


def run_block(block: Block, folder: Path, built: Path | None = None) -> None:
    """Run a block's commands in `folder`, with a home of its own, and compare each one's output.

    `built` has what hark builds once for each home, which takes longer than all that a block shows.
    """
    if built is not None:
        state = Path(f"{folder}-home/.local/state/hark")
        state.mkdir(parents=True, exist_ok=True)
        (state / "shims").symlink_to(built)
    env = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    env |= {"HOME": f"{folder}-home", "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}
    for example in shown(block.text):
        command = example.command
        if command == DEMO:
            command = f"cd {ROOT} && {sys.executable} -m demo"
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        printed = done.stdout.splitlines()
        assert agree(example.lines, printed), f"{block.where}: {example.command}\n{done.stdout}"


def apart(story: list[Block]) -> list[Block]:
    """Return a story whose servers listen where nobody does: those of an earlier reading may be there."""
    for port in sorted(set(re.findall(r"http\.server (\d+)", "".join(block.text for block in story)))):
        with socket.create_server(("127.0.0.1", 0)) as free:
            other = str(free.getsockname()[1])
        story = [replace(one, text=re.sub(rf"\b{port}\b", other, one.text)) for one in story]
    return story


def run_story(story: list[Block], folder: Path, built: Path | None = None) -> None:
    """Run the blocks of a story in one folder, and write its files there."""
    for at, block in enumerate(apart(story)):
        if block.info[:1] == ("console",):
            run_block(block, folder, None if at else built)
        else:
            (folder / block.info[1]).write_text(block.text)


def is_slow(story: list[Block]) -> bool:
    """A story that starts an agent needs the kernel's features."""
    texts = [block.text for block in story if block.info[:1] == ("console",)]
    return any(re.search(r"make demo|\bhark run ", one.command) for text in texts for one in shown(text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all blocks, so that a later one can use what an earlier one made."""
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all blocks find what the first one has built."""
    return tmp_path_factory.mktemp("shims")


@pytest.mark.parametrize("story", [story for story in CONSOLE if not is_slow(story)], ids=beginning)
def test_a_console_block_shows_what_the_program_prints(story: list[Block], folder: Path) -> None:
    run_story(story, folder)


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.parametrize("story", [story for story in CONSOLE if is_slow(story)], ids=beginning)
def test_a_console_block_with_a_run_shows_what_the_program_prints(
    story: list[Block], tmp_path: Path, built: Path
) -> None:
    run_story(
        story, tmp_path, built
    )  # a project of its own: keys that other blocks made in theirs would be named


@pytest.mark.parametrize("wrong", ["hark 9.9.9", "...\nhark 9.9.9\n...", "bundle format 1"])
def test_a_console_block_that_shows_something_else_is_seen(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(AssertionError, match=r"somewhere:1: hark version"):
        run_block(Block("somewhere:1", ("console",), f"$ hark version\n{wrong}\n"), tmp_path)


def test_a_story_is_not_disturbed_by_the_servers_of_an_earlier_reading() -> None:
    told = [
        Block("a:1", ("console",), "$ python3 -m http.server 18765 &\n"),
        Block("a:2", (), "at :18765 187651"),
    ]
    first, second = apart(told)
    port = first.text.split()[4]
    assert (port != "18765", second.text) == (True, f"at :{port} 187651")
    assert apart(told[1:]) == told[1:]


def test_ids_times_and_ports_may_differ_and_words_may_not() -> None:
    documented = [
        "run 01ARZ3NDEKTSV4RRFFQ69G5FAV at 2025-01-01T00:00:00Z",
        "...",
        "to 127.0.0.1:4000  denied",
    ]
    first = "run 01BX5ZZKBKACTAV9WEVGEMMVRZ at 2026-02-02T10:11:12Z"
    assert agree(documented, [first, "", "to 127.0.0.1:9 denied"])
    assert agree(documented, [first, "more", "lines", "to 127.0.0.1:9 denied"])
    assert not agree(documented, [first, "to 127.0.0.1:9 allowed"])
    assert not agree(documented, [first, "to 127.0.0.1:9 denied", "more"])
    assert not agree(documented, ["to 127.0.0.1:9 denied"])
    assert not agree([], ["something"])
    placeholders = [f"sk-hark{letter * 30}" for letter in "ab"]
    assert agree(placeholders[:1], placeholders[1:])
    assert not agree([placeholders[0].replace("sk-", "sk-demo-")], placeholders[1:])


def test_events_whose_number_is_the_machines_pace_may_stand_anywhere_and_others_may_not() -> None:
    lines = [
        "    35       1.615  DnsDecision             DENIED collect.evil.example",
        "    36       1.627  EgressAttempt           http to 203.0.113.9 port 80",
    ]
    clock = "    36       1.626  ClockLog                37 bytes, last"
    head = "    36       1.626  ResponseHead         1  200"
    assert agree(lines, [lines[0], clock, head, lines[1]])
    assert agree([lines[0], clock, lines[1]], lines)
    assert not agree(lines, [lines[0], clock.replace("ClockLog", "DnsQuery"), lines[1]])
