"""The files by which the agent asks hark for names and trusts the run's CA, in place of the host's own.

Always: the CA's certificate alone is among them, never its key.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hark.plan.preparation import CA_BUNDLE, JAVA_STORE
from launcher.plan import GATEWAY_V4, Plan

if TYPE_CHECKING:
    from mediator.ca import RunCA


def files_for(ca: "RunCA", roots: bytes, plan: Plan, environ: Mapping[str, str]) -> dict[str, bytes]:
    """Return what the agent is shown so that it asks us for names and trusts the run's CA too."""
    from mediator import trust

    bundle = ca.trust_bundle(roots)
    files = {"/etc/resolv.conf": f"nameserver {GATEWAY_V4}\n".encode()}  # also where /etc itself is granted
    files |= dict.fromkeys((CA_BUNDLE, *trust.bundle_paths(environ)), bundle)
    files |= dict.fromkeys(
        (path for path in trust.CHROMIUM_POLICIES if not _is_granted(path, plan)),
        trust.chromium_policy(ca.pem()),
    )
    if JAVA_STORE in plan.env.get("JAVA_TOOL_OPTIONS", ""):
        files[JAVA_STORE] = trust.java_store(bundle)
    return files


def _is_granted(path: str, plan: Plan) -> bool:
    """Tell whether the host's own place for this file is shown: nothing can be added there."""
    return any(path.startswith(f"{grant.path}/") for grant in plan.grants)
