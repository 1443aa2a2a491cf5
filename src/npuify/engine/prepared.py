"""What there is to analyse in a scan, and all that analysing it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.programs.paths import programs_of
from npuify.engine.worker import Candidate, Worker
from npuify.language import spoken
from npuify.model import FileError, Release, ScanResult, Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.kept.cache import CachedFile, ScanCache
    from npuify.engine.kept.standing import Standing
    from npuify.engine.ruleset import RuleSet
    from npuify.knowledge.frameworks.vllm import VllmAim
    from npuify.knowledge.tensorflow.lines import AdapterChoice
    from npuify.model import Finding, LedgerEntry, Program
    from npuify.project import ProjectFile
    from npuify.project.programs import Programs
    from npuify.rules.selection import Selection
    from npuify.rules.style_plan import StylePlan


class PreparedScan(NamedTuple):
    """What there is to analyse, and all that analysing it takes.

    Attributes:
        root: the project's root.
        release, soc: the release and the kind of chip aimed at.
        vllm: the vLLM aimed at.
        tensorflow: the TensorFlow adapter aimed at.
        selection, rules: the rules that run.
        programs: those of the project, with what they import.
        project: what the rules may ask of the project's other files.
        plan: the style of the run.
        candidates: the files to analyse, in the order of ``files``.
        files: those of the project in which anything was sought.
        bytes_seen: their size.
        errors: files that could not be read.
        data_files: files of settings that are so long that they hold data, and were not read.
        survey: what the project is.
        cache: what an earlier scan left.
        to_cache: what is known now for the next scan, without results.
        standing: what of the last scan still holds.
        rests_on: locations of all files and folders that the scan rests on.
    """

    root: Path
    release: Release
    soc: str
    vllm: VllmAim
    tensorflow: AdapterChoice
    selection: Selection
    rules: RuleSet
    programs: Programs
    project: ProjectIndex
    plan: StylePlan
    candidates: Sequence[Candidate]
    files: Sequence[ProjectFile]
    bytes_seen: int
    errors: Sequence[FileError]
    data_files: Sequence[str]
    survey: Survey
    cache: ScanCache
    to_cache: ToCache
    standing: Standing
    rests_on: Sequence[str]

    def worker(self) -> Worker:
        """What analyses the files."""
        return Worker(
            self.release.torch_npu,
            self.selection,
            self.project,
            self.plan,
            self.soc,
            self.rules,
            self.vllm,
            self.tensorflow.line,
        )

    def programs_with(
        self, findings: Sequence[Finding], errors: Sequence[FileError]
    ) -> tuple[tuple[Program, ...], list[FileError]]:
        """The project's programs, each with what it reaches of files that something was found in; see
        :func:`npuify.engine.programs.paths.programs_of`.

        Args:
            findings, errors: all of them.
        """
        python = [file.relative for file in self.files if file.kind == "python"]
        entries, operators = self.survey.entry_points, self.survey.operators
        return programs_of(
            self.programs, self.worker().run, python, entries, findings, errors, operators, self.standing.once
        )

    def scan_result(
        self,
        findings: Iterable[Finding],
        errors: Iterable[FileError],
        about_project: Iterable[Finding],
        ledger: Iterable[LedgerEntry],
        programs: Iterable[Program],
    ) -> ScanResult:
        """The result of a scan that came to this.

        Args:
            findings: all of them.
            errors: all of them.
            about_project: those of the findings that no single one of ``files`` shows.
            ledger: of all files.
            programs: see :meth:`programs_with`.
        """
        return ScanResult(
            root=str(self.root),
            release=self.release,
            findings=tuple(findings),
            errors=tuple(errors),
            files_seen=len({*(file.relative for file in self.files), *(finding.file for finding in about_project)}),
            files_parsed=sum(one.concerns for one in self.candidates),
            ledger=tuple(ledger),
            bytes_seen=self.bytes_seen,
            survey=self.survey,
            programs=tuple(programs),
            style=self.plan.style,
            tensorflow=self.tensorflow.title if on_tensorflow(self.survey) else "",
            tensorflow_line=self.tensorflow.line or self.project.tensorflow_marks.line,
            language=spoken(),
        )


class ToCache(NamedTuple):
    """What is known of a project before its files are analysed; see :class:`npuify.engine.kept.cache.CacheContents`."""

    files: Mapping[str, CachedFile]
    project: str
    operators: str | None


def on_tensorflow(survey: Survey) -> bool:
    """Whether a project computes with TensorFlow, or Keras."""
    return any(one.name in ("tensorflow", "keras") for one in survey.frameworks)
