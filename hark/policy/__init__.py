"""What the operator allows, as values: no IO, no clock, no environment.

`parse` turns TOML bytes into a `model.Policy` or one `PolicyError`; `decide` answers for a host and a port.
"""
