"""The opening of a record: what was asked, by hash and in full, and what was in force."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hark.bundle.bounds import RunStart
from hark.bundle.events import EnvSnapshot, PolicyLoaded, encode
from hark.bundle.hashing import leaf_hash
from hark.bundle.lineage import ORIGINAL, Lineage, lineage_of
from hark.plan.preparation import Options, Prepared, prepare
from hark.policy.model import Address, Limits, Rule, Speaks
from hark.running import record
from launcher.report import AppliedGrant, Facts
from mediator.proxy import read_proxies


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    project = tmp_path / "app"
    project.mkdir()
    (project / "p.toml").write_text('allow_hosts = ["b.example", "a.example:80"]\n')
    options = Options(
        ("/bin/echo", "a\udcff"),
        policy=str(project / "p.toml"),
        workdir=str(project),
        upstreams=("b.example=127.0.0.1:1", "a.example=127.0.0.1:2"),
    )
    return prepare(options, {"HOME": str(tmp_path / "home"), "PATH": "/bin"}, terminal=False)


def test_header_and_first_event_agree_on_every_hash(prepared):
    header = record.header("RUN", prepared)
    start, *_ = record.opening("RUN", prepared)
    assert isinstance(start, RunStart)
    assert (start.argv_hash, start.policy_hash) == (header.argv_hash, header.policy_hash)
    assert header.policy_hash == leaf_hash(0, 0, prepared.policy.raw)
    assert len({header.argv_hash, header.policy_hash, header.env_hash}) == 3


def test_the_header_of_a_fork_names_its_parent(prepared):
    assert lineage_of(record.header("RUN", prepared)) == ORIGINAL
    fork = Lineage(b"p" * 32, 24, b"h" * 32)
    assert lineage_of(record.header("RUN", prepared, fork)) == fork


def test_the_opening_holds_argv_policy_environment_and_upstreams(prepared):
    start, loaded, env = record.opening("RUN", prepared)
    assert isinstance(start, RunStart)
    assert isinstance(loaded, PolicyLoaded)
    assert isinstance(env, EnvSnapshot)
    assert start.upstreams == ("a.example=127.0.0.1:2", "b.example=127.0.0.1:1")
    assert loaded.allow_hosts == ("b.example", "a.example:80")
    assert loaded.raw == prepared.policy.raw
    assert prepared.plan.workdir in loaded.write_paths
    assert "/usr" in loaded.read_paths
    assert env.vars["HOME"] == prepared.plan.home


def test_the_upstreams_of_rules_and_the_proxies_are_recorded_without_credentials(prepared):
    rule = Rule("db.example", (5432, 443), "allow 1", Speaks.TCP, upstream=Address("127.0.0.1", 5433))
    proxies = read_proxies({"HTTPS_PROXY": "http://me:pass-word@proxy.example:3128"})
    changed = replace(prepared, policy=replace(prepared.policy, allow=(rule,)), proxies=proxies)
    start, *_ = record.opening("RUN", changed)
    assert isinstance(start, RunStart)
    assert start.upstreams[2:] == ("db.example:5432=127.0.0.1:5433", "db.example=127.0.0.1:5433")
    event = record.boundary(changed, Facts("6.1", "x86_64", 5, 1000, 1000, (), (), (), ()))
    assert event.notes == ("-via-proxy: upstreams are dialled through http://proxy.example:3128",)
    assert b"pass-word" not in encode(event) + encode(start)


def test_a_run_that_waits_for_all_says_so(prepared):
    facts = Facts("6.1", "x86_64", 5, 1000, 1000, (), (), (), ())
    assert not record.boundary(prepared, facts).waits_for_all
    waiting = replace(prepared, plan=replace(prepared.plan, wait_for_all=True))
    assert record.boundary(waiting, facts).waits_for_all


def test_what_is_recorded_of_the_run_is_named(prepared):
    start, *_ = record.opening("RUN", prepared)
    assert "input" in start.provider_set
    without = replace(prepared, plan=replace(prepared.plan, record_input=False))
    start, *_ = record.opening("RUN", without)
    assert "input" not in start.provider_set


def test_bytes_outside_utf_8_can_be_recorded(prepared):
    start, *_ = record.opening("RUN", prepared)
    assert isinstance(start, RunStart)
    assert start.argv == ("/bin/echo", "a\\xff")
    assert encode(start)
    assert os.fsencode(prepared.plan.argv[1]) == b"a\xff"


def test_what_was_in_force_is_recorded_and_not_what_was_asked_for(prepared):
    plan = prepared.plan
    facts = Facts(
        kernel="6.1",
        machine="x86_64",
        landlock_abi=5,
        uid=1000,
        gid=1000,
        grants=(AppliedGrant("/usr", "read", "system", "as they are"),),
        withheld=("/home/u/.config/hark",),
        uncovered=plan.hidden[:1],
        settings_unset=("net.ipv4.icmp_ratelimit",),
    )
    event = record.boundary(prepared, facts)
    assert (event.landlock_abi, event.kernel, event.uid) == (5, "6.1 x86_64", 1000)
    assert event.grants == ("read /usr: system, as they are",)
    assert f"hidden {plan.hidden[0]}" not in event.withheld
    assert f"hidden {plan.hidden[1]}" in event.withheld
    assert len(event.notes) == 2


def test_every_limit_in_force_is_recorded_with_what_keeps_it(prepared):
    limits = Limits(time_s=90, processes=5, memory=1 << 30, disk=1 << 20, events_per_s=7)
    policy = replace(prepared.policy, limits=limits, max_bytes=1 << 20)
    changed = replace(prepared, policy=policy, plan=replace(prepared.plan, limits=limits))
    event = record.boundary(changed, Facts("6.1", "x86_64", 5, 1000, 1000, (), (), (), ()))
    keys = ["limits.processes", "limits.memory", "limits.disk", "limits.time", "limits.events_per_second"]
    assert [note.split()[0] for note in event.notes] == [*keys, "record.max_bytes"]
    assert "limits.time 90 s: SIGTERM to the agent, then SIGKILL to all inside" in event.notes
