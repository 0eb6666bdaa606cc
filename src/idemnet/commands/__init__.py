"""The commands of `idemnet`, one a file.

Each imports what it needs when it runs: torch takes seconds, and `idemnet --help` none.
"""
