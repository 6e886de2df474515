"""Prints every attack by trap, defended and with its defence taken away; exit 1 if any is not as it must."""

import sys
import textwrap

from tests.attacks.registry import Verdict, all_attacks


def main() -> int:
    """Run every attack both ways and print one row for each."""
    bad = 0
    print(
        "trap: a numbered failure that systems of this kind were found to have; see tests/attacks/README.md"
    )
    print(f"{'trap':>4}  {'attack':<58}  {'defended':<10}  {'defence off':<11}")
    for one in all_attacks():
        defended, undefended = one.defended(), one.undefended()
        good = defended.verdict is Verdict.REFUSED and undefended.verdict is Verdict.SUCCEEDED
        bad += not good
        name = textwrap.shorten(one.name, 58)
        mark = "" if good else f"  <- {defended.detail} / {undefended.detail}"
        print(
            f"{one.trap:>4}  {name:<58}  {defended.verdict.value:<10}  {undefended.verdict.value:<11}{mark}"
        )
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
