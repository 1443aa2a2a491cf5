"""The command line: one module a command, thin faces over the public functions."""

from __future__ import annotations


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit: 0 nothing left to do, 1 findings remain, 2 failure."""
    import sys

    try:
        from npuify.cli.program import program

        program(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="npuify")
    except KeyboardInterrupt:
        # No command runs yet: the modules are still being read.
        print("npuify: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
