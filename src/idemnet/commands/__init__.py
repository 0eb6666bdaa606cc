"""The commands of `idemnet`, one file each.

Commands import what they need when they run, so that `idemnet --help` does not wait for torch. The
package is not called cli, because Kedro looks there for its own commands.
"""
