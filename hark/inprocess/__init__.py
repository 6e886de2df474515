"""Recording and playing back code that runs in a test's own process, where no boundary can be had.

Two processes. `attendant` has mediator, credentials and record, as of any run; `guard` turns what Python's
sockets reach for in the test's process to it. Always: the record says that nothing was contained.
"""
