"""Print each case in which a client sees something else through hark than without it: see docs/interop.md."""

import os
import sys

from tests.interop import autobahn, docker, grpc_go, http2, kubectl, websocket

_FETCHED = {
    "grpc": "GRPC_INTEROP",
    "autobahn": "AUTOBAHN",
    "docker": "DOCKER_INTEROP",
    "kubectl": "KUBECTL_INTEROP",
}
"""Those whose programs are no part of a checkout, and the variables that say where they are."""


def main() -> None:
    """Run the suites that are named, or all that can be run."""
    suites = {"websocket": websocket, "http2": http2}
    suites |= {"grpc": grpc_go, "autobahn": autobahn, "docker": docker, "kubectl": kubectl}
    for name, variable in _FETCHED.items():
        if not sys.argv[1:] and variable not in os.environ:
            del suites[name]
    for name, suite in suites.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        run, differ = 0, 0
        for case, bare, through in suite.answers():
            run += 1
            if bare != through:
                differ += 1
                print(f"{name}: {case}: without hark {bare}; with it {through}")
        print(f"{name}: {run} cases, {differ} differ")


if __name__ == "__main__":
    main()
