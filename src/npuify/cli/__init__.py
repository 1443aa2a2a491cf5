"""The command line: one module a command, thin faces over the public functions."""

from __future__ import annotations


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit: 0 nothing left to do, 1 findings remain, 2 failure."""
    import gc
    import sys

    # What modules make while they are read stays: looking for garbage in it is a tenth of the time to start.
    gc.disable()
    try:
        from npuify.cli.common.language import language_on, run_in_language
        from npuify.cli.common.program import program
        from npuify.language import speak, usual

        speak(language_on(sys.argv[1:]) or usual())
        commands = program(_command_on(sys.argv[1:]))
        gc.freeze()
        gc.enable()
        run_in_language(commands)
    except KeyboardInterrupt:
        # No command runs yet: the modules are still being read.
        print("npuify: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _command_on(arguments: list[str]) -> str:
    """The command or group that the command line names; ``--language`` may stand before it."""
    if arguments[:1] == ["--language"]:
        return next(iter(arguments[2:]), "")
    return next((one for one in arguments if not one.startswith("--language=")), "")
