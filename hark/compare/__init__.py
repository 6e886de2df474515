"""Forks of one run side by side: what each was asked, did, used and cost, and whether a check passed."""
