"""What happens around every command: its exit code, and what a person sees when it fails."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, ParamSpec

import typer

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOTHING_LEFT = 0
FINDINGS_REMAIN = 1
WRONG_USE = 2
INTERRUPTED = 130
TERMINATED = 143

P = ParamSpec("P")


class Terminated(KeyboardInterrupt):
    """Another process asked this one to end."""


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """SIGTERM, as batch systems and containers send it, ends what is inside as Ctrl-C does: nothing half-written stays.

    Where the caller has a handler of its own, or runs in another thread, that stays.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not ours:
        yield
        return

    def end(number: int, frame: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """``command``, which returns its exit code, as typer wants it; errors become messages on the error stream."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_code(command, *args, **kwargs))

    return run


def _code(command: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
    from npuify.model import NpuifyError

    try:
        return command(*args, **kwargs)
    except NpuifyError as error:
        _say(f"npuify: {error}")
        return WRONG_USE
    except Terminated:
        _say("npuify: terminated")
        return TERMINATED
    except KeyboardInterrupt:
        _say("npuify: interrupted")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("NPUIFY_TRACEBACK", "0") not in {"", "0"}:
            import traceback

            _say(traceback.format_exc().rstrip("\n"))
        else:
            text = " ".join(str(error).split())
            _say(
                phrase(
                    "npuify: this is a bug in npuify: {name}{value}",
                    name=type(error).__name__,
                    value=f": {text}" if text else "",
                )
            )
            _say(
                "  Run it again with NPUIFY_TRACEBACK=1 in the environment to see the traceback, and please report it."
            )
        return WRONG_USE


def _say(message: str) -> None:
    encoding = sys.stderr.encoding or "utf-8"
    print(message.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
