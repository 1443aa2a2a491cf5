"""Run one command, with its output in a file and an end to its time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TAIL: Final = 8
_USAGE: Final = 2
"""The exit code of a program that was started in a wrong way."""
_READ: Final = 1 << 22
_ERROR: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|NotSimulated)(?::.*)?$")
_RANK: Final = re.compile(r"^\[rank\d+\]:\s?")
_MARK: Final = re.compile(r"[\s~^]+")
_FOLLOWS: Final = ("torch.distributed.elastic", "ChildFailedError", "SignalException")
_SIGILL: Final = re.compile(r"SIGILL|Illegal instruction")
_NOT_CUDA: Final = re.compile(
    r"error: argument (?P<argument>[^:\n]+): invalid choice: '(?P<chosen>cuda(?::\d+)?)'"
    r"|Invalid value for '(?P<click>[^'\n]+)': '(?P<given>cuda(?::\d+)?)' is not one of"
)
"""How argparse and click refuse a device, and end with 2."""
_REFUSED: Final = re.compile(r"[\w./-]+: error: .*|Error: (?:No such option|Missing|Invalid value|Got unexpected).*")
"""How argparse and click refuse a command, after its usage."""
_LONGEST: Final = 300


class Ran(msgspec.Struct, frozen=True):
    """What a command came to."""

    command: tuple[str, ...]
    shown: str
    """The command as a person would write it."""
    code: int
    """Its exit code; negative: the signal that ended it."""
    seconds: float
    timed_out: bool
    log: str
    """The file with what it printed."""

    @property
    def fine(self) -> bool:
        """Whether it came to its end without an error."""
        return self.code == 0 and not self.timed_out

    def tail(self) -> tuple[str, ...]:
        """The last lines that it printed."""
        try:
            size = Path(self.log).stat().st_size
            with Path(self.log).open("rb") as stream:
                stream.seek(max(0, size - 16384))
                text = stream.read().decode("utf-8", "replace")
        except OSError:
            return ()
        lines = [line.rstrip()[:_LONGEST] for line in text.replace("\r", "\n").splitlines() if line.strip()]
        return tuple(lines[-_TAIL:])

    def cause(self) -> str:
        """The error that a Python program ended with; the first one, where processes drag each other down."""
        around = self._around()
        if not around:
            return self._refusal()
        error = around[-1]
        if ":" not in error and len(around) > 1:
            # An assertion without words: the line of the program says what it wants.
            error = f"{error} at {around[-2].strip()}"
        return error[:_LONGEST]

    def _refusal(self) -> str:
        """What a program's parser of options said, where it ended the program."""
        if self.code != _USAGE:
            return ""
        return next((line for line in reversed(self.tail()) if _REFUSED.fullmatch(line)), "")

    def seen(self) -> tuple[str, ...]:
        """The lines that say why it failed: those that lead to its error, else the last ones."""
        return tuple(line[:_LONGEST] for line in self._around()) or self.tail()

    def _around(self) -> list[str]:
        """The lines up to the error, without marks of the process and of the place."""
        try:
            with Path(self.log).open("rb") as stream:
                text = stream.read(_READ).decode("utf-8", "replace")
        except OSError:
            return []
        lines = [_RANK.sub("", line.rstrip()) for line in text.replace("\r", "\n").splitlines()]
        lines = [line for line in lines if line.strip() and not _MARK.fullmatch(line)]
        found = [at for at, line in enumerate(lines) if _ERROR.match(line) and not line.startswith(_FOLLOWS)]
        if not found:
            return []
        at = found[0 if "[rank" in text else -1]
        return lines[max(0, at + 1 - _TAIL) : at + 1]

    def advice(self) -> str:
        """What to do about it."""
        if self.timed_out:
            return "Reduce its work, or allow more time with --timeout."
        if self.code == -signal.SIGILL or (self.code > 0 and _SIGILL.search("\n".join(self.tail()))):
            return (
                "The processor lacks an instruction that PyTorch expected: ONEDNN_MAX_CPU_ISA=AVX2 in the environment "
                "makes PyTorch avoid it."
            )
        cause = self.cause()
        if re.search(r"LOCAL_RANK|\bRANK\b|WORLD_SIZE", cause):
            return (
                "The program must be started by a launcher: "
                '--entry "torchrun --standalone --nproc_per_node=2 train.py ...".'
            )
        if self.code > 0 and (refused := _NOT_CUDA.search("\n".join(self.tail()))):
            return phrase(
                "The program's {option} does not take {device}, as in the migrated copy it has npu in its place: write "
                "{{device}} in --entry. It becomes npu for the migrated program, and cpu or cuda for the original.",
                option=refused["argument"] or refused["click"],
                device=refused["chosen"] or refused["given"],
            )
        return "npuify diagnose can analyze this log."

    def why(self) -> str:
        """Why it is not fine, in words."""
        cause = self.cause()
        if not cause or self.code <= 0 or self.timed_out:
            return self._end()
        return phrase("ended with {cause}", cause=cause.rstrip("."))

    def in_a_sentence(self) -> str:
        """The same, where nothing else says of what it is told."""
        return phrase("It {why}", why=self.why())

    def _end(self) -> str:
        if self.timed_out:
            return phrase("did not finish within {seconds:.0f} s", seconds=self.seconds)
        if self.code < 0:
            return phrase("was killed by signal {value}", value=-self.code)
        return phrase("exited with code {code}", code=self.code)


def run(
    command: Sequence[str],
    folder: Path,
    log: Path,
    *,
    shown: str = "",
    timeout: float = 600,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run ``command`` in ``folder``; it and its children are ended after ``timeout`` seconds.

    Args:
        log: the file that takes what it prints.
        shown: the command as a person would write it.
        environment: added to this process's own.
    """
    begun = time.monotonic()
    timed_out = False
    with log.open("wb") as stream:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            stream.write(f"{command[0]}: {error.strerror or error}\n".encode())
            return Ran(tuple(command), shown or " ".join(command), 127, 0.0, False, str(log))
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            _end(process)
            code = process.wait()
        except BaseException:
            _end(process)
            process.wait()
            raise
    return Ran(tuple(command), shown or " ".join(command), code, time.monotonic() - begun, timed_out, str(log))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
    else:
        process.kill()


def npuify() -> list[str]:
    """How this very npuify is started."""
    return [sys.executable, "-m", "npuify"]
