"""Adds up what stands in a ledger."""


def total(lines: list[str]) -> int:
    """The sum of the second column."""
    return sum(int(line.split()[0]) for line in lines)
