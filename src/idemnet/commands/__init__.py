"""The commands of `idemnet`, one file each.

Each imports what it needs when it runs: torch takes seconds, and `idemnet --help` none. The package
is not called cli, a name that Kedro takes for its own commands.
"""
