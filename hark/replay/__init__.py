"""What a replay compares, and how: recorded events in, keys, actions and differences out.

No IO, no clock, no randomness: everything here follows from bytes alone, so two people who read one bundle
find the same keys and the same digest. Bundles are hostile input: any bytes give a value, never a crash.
"""
