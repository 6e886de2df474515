"""The files of /etc that are written for the agent instead of shown: they name the run, not the host.

The host's user list, its hosts file and its resolver are never shown. `Plan.files` may replace any of these.
"""

import re
from typing import Final

from launcher.identity import Identity
from launcher.plan import AGENT_V6, GATEWAY_V4, HOSTNAME, Plan

_NAME: Final = re.compile(r"[a-z_][a-z0-9_-]{0,30}", re.ASCII)
_DEFAULT_NAME: Final = "agent"
_OVERFLOW_ID: Final = 65534
_NSSWITCH: Final = (
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n"
)
_HOSTS: Final = (
    "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
    # Both families, or a program asks the resolver for the other; glibc takes ::1 for 127.0.0.1.
    f"127.0.1.1 {HOSTNAME}\n{AGENT_V6} {HOSTNAME}\n"
)


def user_name(plan: Plan, identity: Identity) -> str:
    """The agent's user name: the environment's, unless that is root's or no plain name."""
    name = plan.env.get("USER") or plan.env.get("LOGNAME") or _DEFAULT_NAME
    renamed = identity.changed and identity.seen is None
    if name == "root" or renamed or _NAME.fullmatch(name) is None:
        return _DEFAULT_NAME
    return name


def _field(text: str, default: str) -> str:
    """`text` as one field of a colon-separated line."""
    return text if text.startswith("/") and not set(text) & set(":\n\r\0") else default


def generated(plan: Plan, identity: Identity) -> dict[str, bytes]:
    """Path and content of each generated file, without those that the plan brings."""
    name = user_name(plan, identity)
    home = _field(plan.home, "/")
    shell = _field(plan.env.get("SHELL", ""), "/bin/sh")
    passwd = (
        "root:x:0:0:root:/root:/bin/sh\n"
        f"{name}:x:{identity.inside[0]}:{identity.inside[1]}::{home}:{shell}\n"
        f"nobody:x:{_OVERFLOW_ID}:{_OVERFLOW_ID}:nobody:/nonexistent:/usr/sbin/nologin\n"
    )
    group = f"root:x:0:\n{name}:x:{identity.inside[1]}:\nnogroup:x:{_OVERFLOW_ID}:\n"
    texts = {
        "/etc/passwd": passwd,
        "/etc/group": group,
        "/etc/hosts": _HOSTS,
        "/etc/hostname": f"{HOSTNAME}\n",
        "/etc/nsswitch.conf": _NSSWITCH,
        "/etc/resolv.conf": f"nameserver {GATEWAY_V4}\n",
    }
    return {
        path: text.encode(errors="surrogateescape") for path, text in texts.items() if path not in plan.files
    }
