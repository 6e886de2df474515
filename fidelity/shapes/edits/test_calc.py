"""Tests of calc."""

import unittest

import calc


class Adding(unittest.TestCase):
    """Of add."""

    def test_add(self) -> None:
        """Two and three."""
        assert calc.add(2, 3) == 5
