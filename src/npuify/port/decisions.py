"""What only a person can decide: the question, the places, the choices, and the commands to go on with."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import commas, phrase, semicolons
from npuify.model import Safety
from npuify.port.model import Choice, Decision, PortOptions, State
from npuify.report.summary import counted
from npuify.report.verdicts.scope import has_nothing_to_move, names_no_device
from npuify.report.verdicts.verdict import Level, status, what_stops
from npuify.verify.steps.plan import own_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from npuify.model import EntryPoint, Finding, NpuifyError, ScanResult
    from npuify.port.model import Stage
    from npuify.report.doctor import Report
    from npuify.report.verdicts.verdict import Verdict

AFTER_A_RUN: Final = ("run-failed", "package-missing", "data-missing", "not-comparable", "differs")
"""Decisions after which there is something to hand over all the same."""
_SHOWN: Final = 12
_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_REFUSED: Final = re.compile(r"refused \([\w-]+\)")
"""How the comparison says that it would prove nothing."""
_NO_FILE: Final = re.compile(r"FileNotFoundError|No such file or directory")
_NAMED_FILE: Final = re.compile(r"No such file or directory: '([^']+)'")
_ON_CUDA: Final = re.compile(r"(?<![\w./-])cuda(?::\d+)?(?![\w./-])")
"""A device of CUDA among the words of a command."""
_MAKES_DATA: Final = re.compile(r"(prepare|download|preprocess|make)[^/]*$", re.IGNORECASE)
_MAKERS: Final = 3
_FLAGS: Final = {
    "unsafe": ("--unsafe", "--no-unsafe"),
    "place_on_npu": ("--place-on-npu", "--no-place-on-npu"),
    "replace_kernels": ("--replace-kernels", "--no-replace-kernels"),
    "go_on": ("--go-on", ""),
}


class Commands:
    """Writes the command that goes on."""

    def __init__(self, source: Path, destination: Path, asked: PortOptions) -> None:
        self._source = str(source)
        self._destination = str(destination)
        self._asked = asked

    def again(self, *answer: str, **changes: object) -> str:
        """The whole command, with one more answer; for as long as nothing has been written."""
        asked = msgspec.structs.replace(self._asked, **changes) if changes else self._asked
        return self._command(*_words(asked), *answer)

    def resume(self, *answer: str) -> str:
        """Going on in the destination, which knows what was asked for."""
        return self._command("--resume", *answer)

    def over(self) -> str:
        """Migrating once more, over what was written."""
        return self.again("--force")

    def other(self, *words: str) -> str:
        """Another command of npuify on the source."""
        return shlex.join(["npuify", words[0], self._source, *words[1:]])

    def _command(self, *words: str) -> str:
        return shlex.join(["npuify", "port", self._source, "-o", self._destination, *words])


def _words(asked: PortOptions) -> list[str]:
    words: list[str] = []
    defaults = PortOptions()
    for name in PortOptions.__struct_fields__:
        value = getattr(asked, name)
        if value == getattr(defaults, name):
            continue
        if name in _FLAGS:
            words.append(_FLAGS[name][0 if value else 1])
        else:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return words


def before_migration(scan: ScanResult, verdict: Verdict, asked: PortOptions, commands: Commands) -> Decision | None:
    """What has to be decided before anything is written; None: nothing."""
    if has_nothing_to_move(scan):
        return Decision(
            "nothing-to-do",
            phrase("Nothing to migrate was found. Is this the project's folder?"),
            (phrase("{files} looked at in {root}", files=counted(scan.files_seen, "file"), root=scan.root),),
            (Choice(phrase("Name another folder"), ""),),
        )
    if verdict.level is Level.BLOCKED and not asked.go_on:
        return Decision(
            "blocked",
            phrase("Something has no form for Ascend. Move the rest nonetheless?"),
            _shortened(f"{one.what}: {one.why}{_first(one.places)}" for one in verdict.blockers),
            (
                *_from_pytorch(scan, asked, commands),
                Choice(phrase("Yes: it will be written or replaced afterwards"), commands.again(go_on=True)),
                Choice(
                    phrase("See first what each of them takes"),
                    commands.other("scan", "--format", "html", "--output", "report.html"),
                ),
            ),
        )
    if asked.place_on_npu is None and names_no_device(scan):
        return Decision(
            "no-device",
            phrase("No code names a GPU, so that the program would go on computing on the CPU. Move it to the NPU?"),
            tuple(one.file for one in scan.survey.entry_points[:_SHOWN]),
            (
                Choice(phrase("Yes: model, data and losses"), commands.again(place_on_npu=True)),
                Choice(phrase("No: it chooses its device in another way"), commands.again(place_on_npu=False)),
            ),
        )
    offered = [one for one in scan.findings if one.edits and one.safety is Safety.REVIEW]
    if offered and asked.unsafe is None:
        return Decision(
            "review",
            phrase(
                "{edits} {value} right in the usual case only. Make them?",
                edits=counted(len(offered), "edit"),
                value="is" if len(offered) == 1 else "are",
            ),
            _shortened(map(_place, offered)),
            (
                Choice(phrase("Yes, all of them"), commands.again(unsafe=True)),
                Choice(phrase("No: leave these places as they are, and report them"), commands.again(unsafe=False)),
                Choice(phrase("See them first"), commands.other("migrate", "--diff", "--unsafe")),
            ),
        )
    return None


def _from_pytorch(scan: ScanResult, asked: PortOptions, commands: Commands) -> Iterator[Choice]:
    """Replacements that are known for the project's own kernels, where some are; the rest is asked about once more."""
    if asked.replace_kernels is not None:
        return
    waiting = [one for one in scan.survey.operators if one.calls and not one.has_npu and one.difficulty != "host"]
    known = sum(bool(one.replacement) for one in waiting)
    if known:
        what = phrase(
            "Put PyTorch, proven to compute the same, in the place of {known} of {number} CUDA operators",
            known=known,
            number=len(waiting),
        )
        yield Choice(what, commands.again(replace_kernels=True))


def by_hand(
    findings: Iterable[Finding], scan: ScanResult, verdict: Verdict, asked: PortOptions, commands: Commands
) -> Decision | None:
    """What will not run before a person has changed it; None: nothing, or it was said to go on.

    Args:
        findings: what is left.
        scan: the scan that they are of.
        verdict: on what is left; the places are those that it counts.
        asked: what was said.
        commands: how to go on.
    """
    if asked.go_on or verdict.level not in (Level.WORK, Level.BLOCKED):
        return None
    left = what_stops((one for one in findings if status(one, migrated=True) == "manual"), scan)
    question = phrase(
        "{places} will not run before a person has changed {value} in the migrated copy.",
        places=counted(len(left), "place"),
        value="it" if len(left) == 1 else "them",
    )
    lines = [semicolons(filter(None, (_place(one), one.advice))) for one in left]
    if not left:
        # Kernels, or a framework, are told of as a whole.
        kinds = verdict.blockers or verdict.deciding
        question = phrase(
            "A person has to write or replace in the migrated copy: {what}.", what=commas(one.what for one in kinds)
        )
        lines = [f"{one.what}: {one.why}{_first(one.places)}" for one in kinds]
    return Decision(
        "by-hand",
        question,
        _shortened(lines),
        (
            Choice(phrase("Change the places, then go on"), commands.resume()),
            Choice(phrase("Go on without: what is run does not need them"), commands.resume("--go-on")),
        ),
    )


def which_program(error: NpuifyError, points: Sequence[EntryPoint], commands: Commands) -> Decision:
    """Which program to run, where the project does not say."""
    said = [
        mention.text for one in points for mention in one.mentions if mention.kind == "documentation" and mention.text
    ]
    files = [one.file for one in points if one.file.endswith(".py")]
    return Decision(
        "entry",
        phrase("Which program shall be run, with which arguments for a short run? ({message})", message=error.message),
        tuple(said[:4]),
        tuple(Choice(phrase("Run {file}", file=file), commands.resume("--entry", file)) for file in files[:_SHOWN])
        or (Choice(phrase("Name it"), commands.resume("--entry", "train.py --steps 20")),),
    )


def machine(report: Report, commands: Commands) -> Decision:
    """What is wrong with this machine."""
    wrong = [one for one in report.results if one.status.value == "error"]
    return Decision(
        "machine",
        phrase("This machine cannot run programs on its NPUs as it is."),
        _shortened(semicolons(filter(None, (f"{one.check}: {one.message}", one.advice))) for one in wrong),
        (
            Choice(phrase("Mend it, then go on"), commands.resume()),
            Choice(phrase("Run in simulation"), commands.resume("--target", "simulated")),
        ),
    )


def after_run(
    stages: Sequence[Stage],
    source: Path,
    entry: str,
    points: Sequence[EntryPoint],
    commands: Commands,
    original_fails_too: bool,
) -> Decision | None:
    """What a run that failed, or computes something else, leaves to a person; None: neither."""
    failed = next((one for one in stages if one.state is State.FAILED), None)
    if failed is None:
        return None
    differently = Choice(phrase("Run it differently"), commands.resume("--entry", "PROGRAM ARGUMENTS"))
    change = Choice(phrase("Change the migrated copy, then go on"), commands.resume())
    anew = Choice(phrase("Migrate anew, with other options"), commands.over())
    if failed.name == "compare" and _REFUSED.match(failed.message):
        question = phrase("The two runs cannot be compared: whether they compute the same is not known.")
        places = tuple(filter(None, (failed.message, failed.advice)))
        return Decision("not-comparable", question, places, (differently, change, anew))
    if failed.name == "compare":
        question = phrase("The migrated program computes something else than the original.")
        return Decision("differs", question, (failed.message,), (change, differently, anew))
    if package := _NO_PACKAGE.search(failed.message):
        return Decision(
            "package-missing",
            phrase(
                "The program needs the package {package}, which the Python that runs it does not have.",
                package=package[1],
            ),
            (failed.message,),
            (
                Choice(phrase("Install it, then go on"), commands.resume()),
                Choice(phrase("Run with another Python"), commands.resume("--python", "PATH")),
            ),
        )
    if _NO_FILE.search(failed.message):
        started = entry.split()
        makers = [
            one.file
            for one in points
            if _MAKES_DATA.search(one.file) and one.file.endswith(".py") and one.file not in started
        ]
        return Decision(
            "data-missing",
            phrase("The program needs a file that is not there: data, weights or settings."),
            (failed.message,),
            (
                *(
                    Choice(phrase("Make it with {one}", one=one), commands.resume("--prepare", one))
                    for one in makers[:_MAKERS]
                ),
                *_by_itself(source, entry, commands),
                Choice(
                    phrase("Give the data, or a part of it"),
                    commands.resume("--data", f"{_missing(failed.message)}PATH"),
                ),
                Choice(
                    phrase("Make it with a program, which is run once for both"),
                    commands.resume("--prepare", "PROGRAM"),
                ),
                Choice(
                    phrase("Say where it is, or take other data, by the program's own options"), differently.command
                ),
                Choice(phrase("Put it into both folders, then go on"), commands.resume()),
            ),
        )
    if original_fails_too and _ON_CUDA.search(entry) and "compiled with CUDA" in failed.message:
        # As the command is, each of the two is sent to CUDA.
        own = Choice(
            phrase("Have each run on the device that it is for"),
            commands.resume("--entry", _ON_CUDA.sub("{device}", entry)),
        )
        question = phrase("The command names CUDA, which is not here, for both the original and the migrated program.")
        return Decision("run-failed", question, (failed.message,), (own, differently))
    if original_fails_too:
        question = phrase("Started in this way, neither the original nor the migrated program runs.")
        here = Choice(phrase("Make both run here, then go on"), commands.resume())
        return Decision("run-failed", question, (failed.message,), (differently, here))
    question = phrase("The migrated program did not run as it should.")
    return Decision("run-failed", question, (failed.message,), (change, differently, anew))


def _by_itself(source: Path, entry: str, commands: Commands) -> Iterator[Choice]:
    """Its own input, where the program has an option for that."""
    words = shlex.split(entry)
    option = own_input(source, words)
    if option and option not in words:
        yield Choice(
            phrase("Have the program make its input: {option}", option=option),
            commands.resume("--entry", f"{entry} {option}"),
        )


def _missing(message: str) -> str:
    """``NAME=`` for the file that a program looked for in its own folder; empty where that is not known."""
    found = _NAMED_FILE.search(message)
    name = found[1].removeprefix("./") if found else ""
    return f"{name}=" if name and not name.startswith(("/", "~", "..")) and "=" not in name else ""


def _place(finding: Finding) -> str:
    return f"{finding.file}:{finding.start.line}: {finding.code} {finding.message}"


def _first(places: Sequence[object]) -> str:
    place = places[0] if places else None
    file, line = getattr(place, "file", ""), getattr(place, "line", 0)
    return f" ({file}{f':{line}' if line else ''})" if file else ""


def _shortened(lines: Iterable[str]) -> tuple[str, ...]:
    every = tuple(lines)
    more = len(every) - _SHOWN
    return (*every[:_SHOWN], phrase("… and {more} more", more=more)) if more > 0 else every
