"""The command line: `viewkeeper …`.

Takes: arguments, files and a terminal. Gives: text, JSON and CSV over the public API, and exit codes: 0, 1 for an
error, 2 for arguments that cannot be read, 130 for Ctrl-C.
Invariant: one file a command, which imports what is slow to import only when it runs. An error is a message with its
code on standard error, never a traceback unless asked for.
Does not: reach below the API, or print anything but results on standard output.
"""

from viewkeeper.cli.app import app, main

__all__ = ["app", "main"]
