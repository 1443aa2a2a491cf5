"""What only a person can decide: the question, the places, the choices, and the commands to go on with."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import commas, phrase, semicolons
from npuify.model import Safety
from npuify.port.model import Choice, Decision, PortOptions
from npuify.report.summary import counted
from npuify.report.verdicts.scope import has_nothing_to_move, names_no_device
from npuify.report.verdicts.verdict import Level, status, what_stops

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from npuify.model import EntryPoint, Finding, NpuifyError, ScanResult
    from npuify.report.doctor import Report
    from npuify.report.verdicts.verdict import Verdict

AFTER_A_RUN: Final = ("run-failed", "package-missing", "data-missing", "not-comparable", "differs")
"""Decisions after which there is something to hand over all the same."""
_SHOWN: Final = 12
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

    def mended(self, codes: str) -> str:
        """Going on with a copy of the original in which only these rules have made their edits."""
        copy = self._source.rstrip("/\\") + "-mended"
        made = shlex.join(["npuify", "migrate", self._source, "-o", copy, "--select", codes])
        # Not &&: migrating ends with 1 where something is left to do.
        return f"{made}; {shlex.join(['npuify', 'port', copy, '-o', self._destination, '--resume'])}"

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
