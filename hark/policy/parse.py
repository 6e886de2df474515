"""Policy TOML to values. Accepts only what it understands: an unknown key is an error, never a silence.

Not done here: reading the file, the secrets' values, or anything else of the host. Paths stay as written,
except that they must begin with `/` or `~/`: a path relative to nothing in particular grants something
else on another day.
"""

from typing import Final

from hark.policy import bindings, quantities, replaying, services
from hark.policy.conflicts import check_rules
from hark.policy.hosts import host_rule
from hark.policy.model import HostRule, Limits, Policy, ReplayRules, Rule, SnapshotRules
from hark.policy.reading import MAX_POLICY, Node, assignments, inside, load, path, variable
from hark.policy.rules import rules

__all__ = ["MAX_POLICY", "parse_policy"]
KEYS: Final = (
    "allow_hosts", "allow", "read_paths", "write_paths", "exec", "secrets", "token", "env", "project",
    "limits", "record", "mcp", "publish", "git", "sandbox", "replay", "snapshot",
)  # fmt: skip


def parse_policy(raw: bytes, source: str) -> Policy:
    """Read a policy file's bytes. Raises PolicyError, whose sentence begins with the place in `source`."""
    node = load(raw, source)
    top = node.table(*KEYS)
    env = top["env"].table("pass", "set") if "env" in top else {}
    project = top["project"].table("mask", "unmask", "unprotect") if "project" in top else {}
    record = top["record"].table("max_bytes") if "record" in top else {}
    sandbox = top["sandbox"].table("nested") if "sandbox" in top else {}
    allow_hosts = top["allow_hosts"].each(host_rule) if "allow_hosts" in top else ()
    allow = rules(top["allow"]) if "allow" in top else ()
    every = Policy(allow_hosts=allow_hosts, allow=allow).rules
    _check(top, allow_hosts, every)
    return Policy(
        source=source,
        raw=raw,
        allow_hosts=allow_hosts,
        allow=allow,
        read_paths=top["read_paths"].each(path) if "read_paths" in top else (),
        write_paths=top["write_paths"].each(path) if "write_paths" in top else (),
        executables=services.executables(top["exec"]) if "exec" in top else None,
        secrets=bindings.secrets(top["secrets"], every) if "secrets" in top else (),
        tokens=bindings.tokens(top["token"], every) if "token" in top else (),
        env_pass=env["pass"].each(variable) if "pass" in env else (),
        env_set=assignments(env["set"]) if "set" in env else {},
        mask=project["mask"].each(inside) if "mask" in project else (),
        unmask=project["unmask"].each(inside) if "unmask" in project else (),
        unprotect=project["unprotect"].each(inside) if "unprotect" in project else (),
        limits=services.limits(top["limits"]) if "limits" in top else Limits(),
        max_bytes=_record(record),
        mcp=services.servers(top["mcp"]) if "mcp" in top else (),
        publish=services.published(top["publish"]) if "publish" in top else (),
        git_https=services.git_hosts(top["git"], every) if "git" in top else (),
        nested_sandboxes=sandbox["nested"].truth() if "nested" in sandbox else False,
        replay=replaying.replay(top["replay"]) if "replay" in top else ReplayRules(),
        snapshot=services.snapshot(top["snapshot"]) if "snapshot" in top else SnapshotRules(),
    )


def _record(record: dict[str, Node]) -> int | None:
    least = services.LEAST_RECORD
    return quantities.size_or_bytes(record["max_bytes"], least) if "max_bytes" in record else None


def _check(top: dict[str, Node], allow_hosts: tuple[HostRule, ...], every: tuple[Rule, ...]) -> None:
    plain = top["allow_hosts"].items() if allow_hosts else []
    tables = top["allow"].items() if "allow" in top else []
    check_rules(list(zip(every, [*plain, *tables], strict=True)))
