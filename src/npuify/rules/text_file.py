"""A file that is not Python under analysis: how its findings are reported, and how its rules are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from npuify.knowledge.frameworks.variables import TENSORFLOW, framework_in
from npuify.language import phrase
from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.knowledge import ReleaseTable
    from npuify.rules.job import Job
    from npuify.source.text import Text

Replacement = tuple[int, int, str]
"""Start and end, in bytes of the file's text, and what is written there."""


def listed(
    code: str,
    name: str,
    safety: Safety,
    severity: Severity = Severity.ERROR,
    *,
    example_file: str = "train.sh",
    evidence: Evidence = Evidence.DOCUMENTED,
    source: str = "the table of environment variables; npuify says the source with each finding",
) -> Callable[[Callable[[object, object], Iterator[Finding]]], Rule]:
    """Put a rule into the list; the function that is decorated only carries its documentation."""

    def register(documentation: Callable[[object, object], Iterator[Finding]]) -> Rule:
        return list_rule(
            Rule(code, name, safety, severity, evidence, source, (), (), documentation, (), False, example_file)
        )

    return register


class Given(NamedTuple):
    """The one value that a file gives a variable, and the places where it is written."""

    value: str
    places: tuple[tuple[int, int], ...]


_UNSURE = "this script cannot be parsed as shell, so it is left for manual editing"


class TextFile:
    """A launcher, a configuration, a container's recipe.

    Attributes:
        data: its text as UTF-8; all offsets are offsets into this.
        job: what the run is about, and how to show a part of the file to other rules.
        given: variables that the file gives one value only, which it writes out.
        settled: those of them to which a finding gives another value already.
        framework: whose programs the file starts, where its variables are not meant for PyTorch; see
            :func:`npuify.knowledge.frameworks.variables.framework_in`.
    """

    def __init__(self, relative: str, kind: str, text: Text, job: Job) -> None:
        self.relative = relative
        self.kind = kind
        self.text = text
        self.data = text.data
        self.job = job
        self.run = job.run
        self.findings: list[Finding] = []
        self.given: dict[str, Given] = {}
        self.settled: list[Given] = []
        self.framework = framework_in(text.data) or (TENSORFLOW if job.run.project.on_tensorflow else "")
        self._taken: set[tuple[str, int, int]] = set()
        self._unsure: list[tuple[int, int]] = []

    @property
    def release(self) -> ReleaseTable:
        return self.run.release

    def source(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self.data[start:end].decode("utf-8", "surrogatepass")

    def unsure(self, start: int, end: int) -> None:
        """Leave what is found between two offsets to a person: how the text is meant cannot be told."""
        self._unsure.append((start, end))

    def _is_unsure(self, edits: Iterable[Replacement]) -> bool:
        return any(start <= edit[0] < end for edit in edits for start, end in self._unsure)

    def add(self, finding: Finding) -> None:
        """Note a finding that is made already, unless it is known."""
        key = (finding.code, finding.start.line, -finding.start.column)
        if key not in self._taken:
            self._taken.add(key)
            if self._is_unsure((edit.start, edit.end, edit.after) for edit in finding.edits):
                finding = structs.replace(finding, edits=(), safety=Safety.MANUAL, advice=phrase(_UNSURE))
            self.findings.append(finding)

    def report(
        self,
        rule: Rule,
        place: tuple[int, int],
        message: str,
        *,
        edits: Iterable[Replacement | None] = (),
        safety: Safety | None = None,
        severity: Severity | None = None,
        evidence: Evidence | None = None,
        source: str = "",
        subject: str = "",
        advice: str = "",
    ) -> None:
        """Note a finding. Where one of ``edits`` is None, it is left to a person.

        A second finding of the same rule at the same place is dropped: parts of a file may be read twice.
        """
        if (rule.code, *place) in self._taken:
            return
        self._taken.add((rule.code, *place))
        wanted = list(edits)
        made = [edit for edit in wanted if edit is not None]
        if len(made) < len(wanted):
            made = []
        made = [edit for edit in made if self.source(edit[0], edit[1]) != edit[2]]
        if made and self._is_unsure(made):
            made, advice = [], _UNSURE
        if made and self.run.project.handles_npu(self.relative):
            # The program treats the NPU beside CUDA by itself; its CUDA side may be meant to stay.
            safety = Safety.REVIEW
        start, end = place
        self.findings.append(
            Finding(
                code=rule.code,
                name=rule.name,
                severity=severity or rule.severity,
                safety=(safety or rule.safety) if made else Safety.MANUAL,
                file=self.relative,
                start=Position(*self.text.position(start)),
                end=Position(*self.text.position(end)),
                message=phrase(message),
                evidence=evidence or rule.evidence,
                source=source or rule.source,
                subject=subject,
                advice=phrase(advice),
                edits=tuple(
                    Edit(first, last, self.source(first, last), after) for first, last, after in sorted(set(made))
                ),
            )
        )
