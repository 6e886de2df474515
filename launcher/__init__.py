"""The boundary: namespaces, a veth pair, nftables, mounts, Landlock and seccomp around one agent.

Everything above meets the launcher through the values in `launcher.plan` and the handle that
`launcher.launch` returns. Importing this package does nothing.
"""
