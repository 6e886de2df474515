"""From a command line to a complete plan: everything that can be refused is refused here, before any process.

`preparation` is where it comes together; the others each know one thing that a run needs to have decided.
"""
