"""The project's files on the record: as they were before the agent, kept whole for a replay, and as it left
them.

`survey` looks through a tree, `collect` reads it, `archive` is the copy as bytes, `extract` makes files of
such bytes again, `results` finds what a run did to a tree, `compare` says how a tree differs from a
manifest.
"""
