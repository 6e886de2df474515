"""Networks that are made ahead: used for whom they were made, never needed, gone with who asked for them."""

import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from launcher import ahead, network, wire
from launcher.identity import agent_identity
from launcher.launch import launch
from tests.launcher.rig import WHO, apart, become_ordinary, plan, project, shell
from tests.support.waiting import until


def refuse(*_arguments: object) -> None:
    raise OSError(95, "no network is made here")


def begin_and_refuse() -> None:
    """Have networks made, and then let nobody make any."""
    ahead.begin()
    network.build = refuse


REACHES = "cat /sys/class/net/*/address; exec 3<>/dev/tcp/192.0.2.7/9999 && echo connected"


@pytest.mark.parametrize("who", WHO)
def test_the_agent_is_in_the_networks_that_were_made_ahead(who: str) -> None:
    result = shell(f"bash -c '{REACHES}'", who=who, change=begin_and_refuse)
    assert "connected" in result.out, result.err + result.error
    assert ("192.0.2.7", 9999) in [(host, port) for _, host, port in result.seen]


@pytest.mark.parametrize("who", WHO)
def test_without_them_it_would_have_none(who: str) -> None:
    result = shell("true", who=who, change=lambda: setattr(network, "build", refuse))
    assert "no network is made here" in result.error


@pytest.mark.parametrize("who", WHO)
def test_what_holds_is_the_same_either_way(who: str) -> None:
    script = "id -u; id -g; cd /proc; cat self/uid_map self/status net/route net/if_inet6 net/arp; ulimit -a"
    made, own = (shell(script, who=who, change=change) for change in (ahead.begin, None))
    lines = [
        sorted(line for line in one.out.splitlines() if not line.startswith(_OWN)) for one in (made, own)
    ]
    assert len(lines[0]) > len(_OWN)
    assert lines[0] == lines[1]
    assert made.facts is not None
    assert own.facts is not None
    assert made.facts.settings_unset == own.facts.settings_unset
    assert made.ended == own.ended


_OWN = (
    "Vm",
    "Rss",
    "voluntary",
    "nonvoluntary",
    "Cpus_allowed",
    "Mems_allowed",
    "HugetlbPages",
    "THP",
    "Hugetlb",
)
"""Of a process's status: what two runs differ in anyway."""


@pytest.mark.parametrize("who", WHO)
def test_for_another_identity_others_are_made(who: str) -> None:
    result = shell("id -u; id -g", who=who, change=ahead.begin, seen_as=(4242, 4243))
    assert result.out.split() == ["4242", "4243"]
    refused = shell("true", who=who, change=begin_and_refuse, seen_as=(4242, 4243))
    assert "no network is made here" in refused.error


@pytest.mark.parametrize("who", WHO)
def test_their_process_is_reaped_before_the_agent_starts(who: str) -> None:
    """Until then the kernel counts it in the agent's user namespace, for `limits.processes`."""

    def begin_and_look() -> None:
        ahead.begin()
        process, packed = ahead._begun[0].process, wire.pack_files

        def look(files: Mapping[str, bytes]) -> int:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, 0)
                raise OSError(f"{process} counts among the agent's")
            return packed(files)

        wire.pack_files = look

    result = shell("true", who=who, change=begin_and_look)
    assert result.error == ""
    assert result.ended is not None


def test_where_their_process_is_killed_others_are_made() -> None:
    def change() -> None:
        ahead.begin()
        os.kill(ahead._begun[0].process, signal.SIGKILL)

    assert shell("echo ran", change=change).out == "ran\n"


def test_where_it_fails_the_builder_says_why() -> None:
    def change() -> None:
        network.build = refuse
        ahead.begin()

    assert "no network is made here" in shell("true", change=change).error


def test_their_process_is_gone_when_the_agent_has_started() -> None:
    with project() as folder:

        def work() -> list[str]:
            ahead.begin()
            process = ahead._begun[0].process
            with launch(plan(folder, ("/bin/true",))) as boundary:
                boundary.start()
                left = [name for name in (f"/proc/{process}",) if os.path.exists(name)]
                boundary.wait()
            return left

        assert apart(work) == []


def test_an_agent_that_is_never_started_leaves_nothing() -> None:
    def work() -> bool:
        ahead.begin()
        made = ahead.take(agent_identity(os.getuid(), os.getgid(), {}))
        assert made is not None
        made.end()
        return os.path.exists(f"/proc/{made.process}")

    assert not apart(work)


def test_they_are_taken_once() -> None:
    def work() -> bool:
        ahead.begin()
        ahead.begin()
        identity = agent_identity(os.getuid(), os.getgid(), {})
        first = ahead.take(identity)
        second = ahead.take(identity)
        assert first is not None
        first.end()
        return second is None

    assert apart(work)


def test_their_process_dies_with_who_asked_for_them() -> None:
    """Held up where it would hand over, it is killed with its parent."""
    read, write = os.pipe()
    asking = os.fork()
    if asking == 0:
        become_ordinary()
        network.build = lambda _gid: signal.pause()
        ahead.begin()
        os.write(write, b"%d" % ahead._begun[0].process)
        signal.pause()
    process = int(os.read(read, 20))
    named = Path(f"/proc/{process}/comm")
    until(lambda: named.read_text() == "hark-networks\n")
    os.kill(asking, signal.SIGKILL)
    os.waitpid(asking, 0)
    until(lambda: not os.path.exists(f"/proc/{process}") or "Z" in Path(f"/proc/{process}/stat").read_text())
    os.close(read)
    os.close(write)


def test_what_is_no_handover_is_none() -> None:
    for sent in (b"", b"failed\0why"):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if sent:
            theirs.send(sent)
        theirs.close()
        assert ahead.received(ours) is None
        assert ours.fileno() == -1


def test_a_process_that_was_forked_since_takes_none_of_them_and_begins_its_own() -> None:
    def work() -> tuple[int, bool]:
        ahead.begin()
        identity = agent_identity(os.getuid(), os.getgid(), {})
        forked = os.fork()
        if forked == 0:
            none = ahead.take(replace(identity, uid=4242)) is None and ahead.take(identity) is None
            ahead.begin()
            own = ahead.take(identity)
            if own is not None:
                own.end()
            os._exit(0 if none and own is not None else 1)
        _, status = os.waitpid(forked, 0)
        first = ahead.take(identity)
        if first is not None:
            first.end()
        return os.waitstatus_to_exitcode(status), first is not None

    assert apart(work) == (0, True)
