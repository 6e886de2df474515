"""Which source of time, chance and order a replay has under control, in which runtime: measured, not claimed.

`probes/` holds a small program for each runtime that prints what it finds in each source. `python -m
fidelity.sources` records it, replays it, and compares what it printed; the same without shims and without
hark says whether the source differs at all where nothing controls it.
"""
