"""What two bundles have in common and where they differ, for people: `hark diff`.

What is compared is what a replay compares (`hark.replay.treatment`), so two bundles without a difference here
are those that a replay would call equal. Not done here: replaying, and saying whose bundle is the right one.
"""
