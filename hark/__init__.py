"""hark: run an agent inside a boundary and keep one file that records everything that crossed it.

Importing this package does nothing: start-up time is a promise (`hark version`, `hark verify`), so
every submodule is imported by the command that needs it.
"""

# Nothing is imported here, not even `typing`: before `hark.cli` Ctrl-C gives a traceback.
__version__ = "0.1.0.dev0"
RECORDER = f"hark {__version__}"
"""What hark writes into a bundle as the name of the program that recorded it."""
