"""Policy TOML to values. Accepts only what it understands: an unknown key is an error, never a silence.

Not done here: reading the file, the secrets' values, or anything else of the host. Paths stay as written,
except that they must begin with `/` or `~/`: a path relative to nothing in particular grants something
else on another day.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from hark.errors import PolicyError
from hark.policy.host import HostError
from hark.policy.model import HostRule, Policy, SecretSpec

MAX_POLICY: Final = 1 << 20  # one event records the file whole, and nobody reviews a larger one
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOP: Final = ("allow_hosts", "read_paths", "write_paths", "secrets", "env", "project")


def parse_policy(raw: bytes, source: str) -> Policy:
    """Read a policy file's bytes. Raises PolicyError, whose sentence begins with `source`."""
    try:
        return _Reader(source).policy(raw)
    except HostError as error:
        raise PolicyError(f"{source}: {error}") from None


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, text: str) -> PolicyError:
        return PolicyError(f"{self.source}: {text}")

    def policy(self, raw: bytes) -> Policy:
        top = self.load(raw)
        self.known(top, _TOP, "")
        env = self.table(top, "env")
        self.known(env, ("pass", "set"), "env.")
        project = self.table(top, "project")
        self.known(project, ("unmask", "unprotect"), "project.")
        hosts = self.unique("allow_hosts", map(self.host, self.strings(top, "allow_hosts")))
        return Policy(
            source=self.source,
            raw=raw,
            allow_hosts=hosts,
            read_paths=self.each(top, "read_paths", self.path),
            write_paths=self.each(top, "write_paths", self.path),
            secrets=tuple(
                self.secret(name, spec, hosts) for name, spec in self.table(top, "secrets").items()
            ),
            env_pass=self.each(env, "pass", self.variable),
            env_set=self.assignments(self.table(env, "set")),
            unmask=self.each(project, "unmask", self.inside),
            unprotect=self.each(project, "unprotect", self.inside),
        )

    def load(self, raw: bytes) -> dict[str, object]:
        if len(raw) > MAX_POLICY:
            raise self.fail(f"is larger than {MAX_POLICY} bytes; a policy names hosts, it does not hold data")
        try:
            return tomllib.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self.fail(f"is not UTF-8 at byte {error.start}") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise self.fail(f"is not TOML: {error}") from None

    def known(self, table: Mapping[str, object], keys: Iterable[str], where: str) -> None:
        for key in table:
            if key not in keys:
                near = get_close_matches(key, list(keys), 1)
                hint = f"; did you mean {where}{near[0]}?" if near else f"; known are {', '.join(keys)}"
                raise self.fail(f"{where}{key} is not a key of a policy{hint}")

    def table(self, parent: Mapping[str, object], key: str) -> dict[str, object]:
        value = parent.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(f"{key} must be a table, written as [{key}]")
        return value

    def strings(self, parent: Mapping[str, object], key: str) -> list[str]:
        value = parent.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(f'{key} must be a list of strings, written as {key} = ["..."]')
        return value

    def each(self, parent: Mapping[str, object], key: str, read: Callable[[str], str]) -> tuple[str, ...]:
        return self.unique(key, map(read, self.strings(parent, key)))

    def unique[T](self, key: str, items: Iterable[T]) -> tuple[T, ...]:
        seen: dict[T, None] = {}
        for item in items:
            if item in seen:
                raise self.fail(f"{key} names {item} twice")
            seen[item] = None
        return tuple(seen)

    def host(self, text: str) -> HostRule:
        if "://" in text or "/" in text:
            bare = text.partition("://")[2] or text
            raise self.fail(
                f'"{text}" is a URL or a path where a host belongs; write "{bare.partition("/")[0]}"'
            )
        if "*" in text:
            raise self.fail(f'"{text}" has a wildcard, and rules are exact names: write each host out')
        return HostRule.parse(text)

    def path(self, text: str) -> str:
        if "\0" in text or not (text.startswith(("/", "~/")) or text == "~"):
            raise self.fail(f'path "{text}" must begin with / or ~/')
        return text

    def inside(self, text: str) -> str:
        parts = text.split("/")
        if "\0" in text or text.startswith(("/", "~")) or ".." in parts or "" in parts:
            raise self.fail(f'project path "{text}" must be relative to the project and stay inside it')
        return text

    def variable(self, text: str) -> str:
        if not _VARIABLE.fullmatch(text):
            raise self.fail(f'"{text}" is not the name of an environment variable')
        return text

    def assignments(self, table: Mapping[str, object]) -> dict[str, str]:
        for name, value in table.items():
            self.variable(name)
            if not isinstance(value, str) or "\0" in value:
                raise self.fail(f"env.set.{name} must be a string without NUL")
        return {name: str(value) for name, value in table.items()}

    def secret(self, name: str, spec: object, allowed: tuple[HostRule, ...]) -> SecretSpec:
        self.variable(name)
        if not isinstance(spec, dict):
            raise self.fail(f"secrets.{name} must be a table, written as [secrets.{name}]")
        where = f"secrets.{name}."
        self.known(spec, ("env", "file", "hosts"), where)
        for key in ("env", "file"):
            if not isinstance(spec.get(key, ""), str):
                raise self.fail(f"{where}{key} must be a string")
        if "env" in spec and "file" in spec:
            raise self.fail(f"secrets.{name} has both env and file; keep one")
        env = self.variable(spec.get("env", name)) if "file" not in spec else None
        file = self.path(spec["file"]) if "file" in spec else None
        return SecretSpec(name=name, env=env, file=file, hosts=self.bound(name, spec, allowed))

    def bound(
        self, name: str, spec: Mapping[str, object], allowed: tuple[HostRule, ...]
    ) -> tuple[HostRule, ...]:
        """Bind a secret to hosts; without `hosts` only where there is a single one that can be meant."""
        if "hosts" not in spec:
            if len(allowed) == 1:
                return allowed
            raise self.fail(
                f"secrets.{name} is bound to no host and allow_hosts names {len(allowed)}; "
                f'add hosts = ["..."] to [secrets.{name}]'
            )
        hosts = self.unique(f"secrets.{name}.hosts", map(self.host, self.strings(spec, "hosts")))
        if not hosts:
            raise self.fail(f"secrets.{name}.hosts is empty: the secret could never be used")
        for rule in hosts:
            if rule not in allowed:
                raise self.fail(
                    f'secrets.{name} is bound to {rule}, which allow_hosts does not name; add "{rule}"'
                )
        return hosts
