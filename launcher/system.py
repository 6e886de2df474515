"""What of the system every agent sees, read-only: programs, libraries, and settings that hold no secret.

Each entry is a path that exists on this host. Left out on purpose: /opt and /srv (a command that lives
there brings its own prefix), /var, user lists, /etc/ssh (whose client side is copied, see `launcher.ssh`),
and per-machine files in which people keep tokens (/etc/environment, /etc/npmrc, /etc/pip.conf).
"""

import os
from typing import Final

from launcher.plan import Access, Grant

_PROGRAMS: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
)

_SETTINGS: Final = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ssl/certs",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "ca-certificates",
    "ca-certificates.conf",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "crypto-policies",
    "gnutls",
    "alternatives",
    "localtime",
    "timezone",
    "locale.alias",
    "locale.conf",
    "default/locale",
    "mime.types",
    "magic",
    "services",
    "protocols",
    "host.conf",
    "gai.conf",
    "os-release",
    "debian_version",
    "lsb-release",
    "fedora-release",
    "redhat-release",
    "alpine-release",
    "arch-release",
    "profile",
    "profile.d",
    "bash.bashrc",
    "bashrc",
    "zsh",
    "inputrc",
    "shells",
    "skel",
    "login.defs",
    "terminfo",
    "fonts",
    "chromium.d",
    "gitconfig",
    "python3",
    "perl",
    "java",
)
_SETTINGS_BY_PREFIX: Final = ("python3.", "java-")

_HARDWARE: Final = ("/sys/devices/system/cpu",)
"""How many processors there are: thread pools ask. The rest of /sys is not shown."""

_OTHER: Final = ("/var/lib/ca-certificates",)
"""Where SUSE keeps what /etc/ssl links to."""


def _settings() -> list[str]:
    versioned = sorted(name for name in os.listdir("/etc") if name.startswith(_SETTINGS_BY_PREFIX))
    return [f"/etc/{name}" for name in (*_SETTINGS, *versioned)]


def system_grants() -> tuple[Grant, ...]:
    """The grants that a plan starts with."""
    paths = (*_PROGRAMS, *_settings(), *_HARDWARE, *_OTHER)
    return tuple(Grant(path, Access.READ, "system") for path in paths if os.path.exists(path))
