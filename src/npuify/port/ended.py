"""What a run that failed, or computes something else, leaves to a person."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.port.model import Choice, Decision, State
from npuify.verify.steps.plan import own_input
from npuify.verify.steps.start import in_a_line, split
from npuify.verify.steps.switches import with_cuda

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from npuify.model import EntryPoint
    from npuify.port.decisions import Commands
    from npuify.port.model import Stage

_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_REFUSED: Final = re.compile(r"refused \([\w-]+\)")
"""How the comparison says that it would prove nothing."""
_NO_FILE: Final = re.compile(r"FileNotFoundError|No such file or directory")
_NAMED_FILE: Final = re.compile(
    r"No such file or directory: '(?P<name>[^']+)'|FileNotFoundError: (?P<numpy>\S+) not found"
)
"""As Python and NumPy tell it."""
_ON_CUDA: Final = re.compile(r"(?<![\w./-])cuda(?::\d+)?(?![\w./-])")
"""A device of CUDA among the words of a command."""
_NO_DOWNLOAD: Final = re.compile(
    r"[Ee]rror downloading|URLError|HTTPError|ConnectionError|gaierror|[Nn]ame resolution|Name or service not known"
    r"|Max retries exceeded|Network is unreachable|Dataset not found|LocalEntryNotFoundError|ProxyError|ConnectTimeout"
    r"|(?:[Cc]ould not|[Cc]ouldn't|[Cc]an't|[Cc]annot) (?:reach|connect to|download)"
)
"""How torchvision, urllib, requests and huggingface_hub say that something cannot be fetched."""
_ROOT: Final = re.compile(r"\b(?:root|cache_dir|data_dir)\s*=\s*[rf]?['\"]([^'\"{}]+)['\"]")
_LONGER: Final = 6
"""How many times the time that was too short is offered."""
_OLD: Final = "NPU66"
"""The rules on what newer releases of PyTorch no longer have."""
_MAKES_DATA: Final = re.compile(r"(prepare|download|preprocess|generate|make)[^/]*$", re.IGNORECASE)
_MAKERS: Final = 3


class Ended(NamedTuple):
    """How a run ended that failed.

    Attributes:
        as_the_original: the original ended in the same way.
        seconds: the time that it was given and that was too short; 0: it ended by itself.
        on_cpu: it computed on the CPU alone.
        original: why the original ended, where this program did not.
    """

    as_the_original: bool = False
    seconds: float = 0
    on_cpu: bool = False
    original: str = ""


def after_run(
    stages: Sequence[Stage],
    source: Path,
    entry: str,
    points: Sequence[EntryPoint],
    commands: Commands,
    ended: Ended,
) -> Decision | None:
    """What a run that failed, or computes something else, leaves to a person; None: neither."""
    failed = next((one for one in stages if one.state is State.FAILED), None)
    if failed is None and ended.original:
        return _original_ends(stages[-1], commands)
    if failed is None:
        return None
    ways = _Ways(
        Choice(phrase("Run it differently"), commands.resume("--entry", "PROGRAM ARGUMENTS")),
        Choice(phrase("Change the migrated copy, then go on"), commands.resume()),
        Choice(phrase("Migrate anew, with other options"), commands.over()),
    )
    if failed.name == "compare":
        return _compared_differs(failed, ways)
    if package := _NO_PACKAGE.search(failed.message):
        return _package_missing(failed, package[1], commands)
    if _NO_FILE.search(failed.message) or _NO_DOWNLOAD.search(failed.message):
        return _data_missing(failed, source, entry, points, commands, ways)
    if ended.seconds:
        return _time_over(failed, ended.seconds, commands, ways)
    if ended.on_cpu:
        return Decision(
            "run-failed",
            phrase("Started in this way, the migrated program computes on the CPU."),
            (failed.message,),
            (*_on_the_npu(source, entry, commands), ways.differently, ways.change),
        )
    if ended.as_the_original:
        return _neither_runs(failed, entry, commands, ways)
    question = phrase("The migrated program did not run as it should.")
    return Decision("run-failed", question, (failed.message,), (ways.change, ways.differently, ways.anew))


class _Ways(NamedTuple):
    """What can be done after most failures."""

    differently: Choice
    change: Choice
    anew: Choice


def _compared_differs(failed: Stage, ways: _Ways) -> Decision:
    if _REFUSED.match(failed.message):
        question = phrase("The two runs cannot be compared: whether they compute the same is not known.")
        places = tuple(filter(None, (failed.message, failed.advice)))
        return Decision("not-comparable", question, places, (ways.differently, ways.change, ways.anew))
    question = phrase("The migrated program computes something else than the original.")
    return Decision("differs", question, (failed.message,), (ways.change, ways.differently, ways.anew))


def _package_missing(failed: Stage, package: str, commands: Commands) -> Decision:
    return Decision(
        "package-missing",
        phrase(
            "The program needs the package {package}, which the Python that runs it does not have.", package=package
        ),
        (failed.message,),
        (
            Choice(phrase("Install it, then go on"), commands.resume()),
            Choice(phrase("Run with another Python"), commands.resume("--python", "PATH")),
        ),
    )


def _data_missing(
    failed: Stage, source: Path, entry: str, points: Sequence[EntryPoint], commands: Commands, ways: _Ways
) -> Decision:
    start = split(entry)
    started = [posixpath.join(start.folder, word) for word in start.words]
    missing = _missing(failed, start.folder)
    makers = [
        one.file
        for one in points
        if _MAKES_DATA.search(one.file) and one.file.endswith(".py") and one.file not in started
    ]
    return Decision(
        "data-missing",
        phrase("The program downloads data or weights, and that does not work here.")
        if _NO_DOWNLOAD.search(failed.message)
        else phrase("The program needs a file that is not there: data, weights or settings."),
        (failed.message,),
        (
            *(
                Choice(phrase("Make it with {one}", one=one), commands.resume("--prepare", _started(source, one)))
                for one in makers[:_MAKERS]
            ),
            *_by_itself(source, entry, commands),
            Choice(phrase("Give the data, or a part of it"), commands.resume("--data", f"{missing}PATH")),
            Choice(
                phrase("Make it with a program, which is run once for both"), commands.resume("--prepare", "PROGRAM")
            ),
            Choice(
                phrase("Say where it is, or take other data, by the program's own options"), ways.differently.command
            ),
            Choice(phrase("Put it into both folders, then go on"), commands.resume()),
        ),
    )


def _started(source: Path, program: str) -> str:
    """How to start a program that makes data: in its own folder, where it neither names that nor asks for its path."""
    folder, _, name = program.rpartition("/")
    try:
        text = (source / program).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return program
    own = folder and "__file__" not in text and f"{folder}/" not in text
    return in_a_line((name,), folder) if own else program


def _time_over(failed: Stage, seconds: float, commands: Commands, ways: _Ways) -> Decision:
    return Decision(
        "run-failed",
        phrase("The migrated program did not get through two steps in {seconds:.0f} s.", seconds=seconds),
        (failed.message,),
        (
            Choice(phrase("Allow more time"), commands.resume("--timeout", f"{_LONGER * seconds:.0f}")),
            Choice(phrase("Run it with less work, by its own options"), ways.differently.command),
            Choice(phrase("Make its work smaller in both folders alike, then go on"), commands.resume()),
        ),
    )


def _neither_runs(failed: Stage, entry: str, commands: Commands, ways: _Ways) -> Decision:
    if _ON_CUDA.search(entry) and "compiled with CUDA" in failed.message:
        # As the command is, each of the two is sent to CUDA.
        own = Choice(
            phrase("Have each run on the device that it is for"),
            commands.resume("--entry", _ON_CUDA.sub("{device}", entry)),
        )
        question = phrase("The command names CUDA, which is not here, for both the original and the migrated program.")
        return Decision("run-failed", question, (failed.message,), (own, ways.differently))
    question = phrase("Started in this way, neither the original nor the migrated program runs.")
    here = Choice(phrase("Make both run here, then go on"), commands.resume())
    return Decision("run-failed", question, (failed.message,), (ways.differently, here))


def _original_ends(compared: Stage, commands: Commands) -> Decision:
    """Old programs do not run with a new torch; their migrated copies do, where a rule has mended that."""
    return Decision(
        "not-comparable",
        phrase("The original does not run to the end here. What both computed before agrees; the rest is not known."),
        (compared.message,),
        (
            Choice(
                phrase("Compare with a copy of the original in which PyTorch's old forms are mended"),
                commands.mended(_OLD),
            ),
            Choice(
                phrase("Bring a capture of the original from where it runs"), commands.resume("--reference", "PATH")
            ),
            Choice(phrase("Run it differently"), commands.resume("--entry", "PROGRAM ARGUMENTS")),
        ),
    )


def _on_the_npu(source: Path, entry: str, commands: Commands) -> Iterator[Choice]:
    """The option by which the program takes a device, where it has one."""
    start = split(entry)
    turned = with_cuda(source / start.folder, start.words)
    if turned != start.words:
        own = commands.resume("--entry", in_a_line(turned, start.folder))
        yield Choice(phrase("Have it take the device, by its own option"), own)


def _by_itself(source: Path, entry: str, commands: Commands) -> Iterator[Choice]:
    """Its own input, where the program has an option for that."""
    start = split(entry)
    option = own_input(source / start.folder, start.words)
    if option and option not in start.words:
        yield Choice(
            phrase("Have the program make its input: {option}", option=option),
            commands.resume("--entry", f"{entry} {option}"),
        )


def _missing(failed: Stage, folder: str) -> str:
    """``NAME=`` for the file that a program looked for in its own folder; empty where that is not known."""
    found = _NAMED_FILE.search(failed.message)
    if found is None and _NO_DOWNLOAD.search(failed.message):
        # The line of the program that asks for a data set.
        found = next(filter(None, map(_ROOT.search, reversed(failed.evidence))), None)
    name = next(filter(None, found.groups()), "").removeprefix("./") if found else ""
    if any("mkdir(" in line for line in failed.evidence):
        # A folder that it makes itself, in one that has to be there.
        name = name.rstrip("/").rpartition("/")[0]
    inside = not name.startswith("~") and not posixpath.normpath(posixpath.join(folder, name)).startswith(("/", ".."))
    return f"{name}=" if name and inside and "=" not in name else ""
