"""The agent's only way out: DNS, TLS and HTTP judged by policy, recorded, then forwarded.

Runs in the supervisor's process and network namespace, on sockets that the launcher opened inside the
gateway namespace. Importing this package does nothing.
"""
