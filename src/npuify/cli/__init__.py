"""The command line: one module a command, thin faces over the public functions."""

from __future__ import annotations


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit: 0 nothing left to do, 1 findings remain, 2 failure."""
    try:
        from npuify.cli.app import app

        app(prog_name="npuify")
    except KeyboardInterrupt:
        # No command runs yet: the modules are still being read.
        import sys

        print("npuify: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
