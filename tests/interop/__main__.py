"""Print each case in which a client sees something else through hark than without it: see docs/interop.md."""

import sys

from tests.interop import http2, websocket


def main() -> None:
    """Run the suites that are named, or all."""
    for name, suite in (("websocket", websocket), ("http2", http2)):
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
