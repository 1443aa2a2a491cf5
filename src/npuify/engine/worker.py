"""Analyse one file: show it to the rules and analysers that it concerns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.analysis.model import Models
from npuify.engine.analysers import Analyser, analysers_for
from npuify.engine.catalog import all_rules
from npuify.engine.ledger.account import account
from npuify.engine.ledger.unknown import RULE as UNKNOWN
from npuify.engine.on_hardware import doubted
from npuify.engine.opt_ins import beside_opt_ins, opt_in_findings
from npuify.engine.parsing import parse_file
from npuify.engine.ruleset import RuleSet, rules_to_run
from npuify.engine.stubs import of_stub
from npuify.engine.unparsed import RULE as UNPARSED
from npuify.engine.unparsed import search_template, search_tokens, search_undecoded, text_to_search
from npuify.engine.visitor import Findings, analyse
from npuify.knowledge.frameworks.vllm import VllmAim
from npuify.language import phrase
from npuify.model import FileError, State
from npuify.project.kinds import kind_of_path
from npuify.rules.common.own_stack import left_to_stack
from npuify.rules.job import Job
from npuify.rules.opt_ins import NO_OPT_INS
from npuify.rules.program_options import ProgramOptions
from npuify.rules.run import Result, Run
from npuify.rules.style_plan import StylePlan
from npuify.source.parser_warnings import without_warnings
from npuify.source.python import parses
from npuify.source.python.python2 import may_be_python_2
from npuify.source.suppressions import suppressed_codes
from npuify.source.text import Text, UnreadableText
from npuify.styles import restyle_other

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.kept.cache import Stamp
    from npuify.model import Finding, LedgerEntry, Position
    from npuify.rules.selection import Selection

_HEAD = 1000
"""Bytes of a Python file that tell whether an analyser of other kinds of files has to see it as well."""
FILES_PER_PROCESS = 150
"""Files whose analysis takes about as long as starting a process does."""
NPU_STYLE = StylePlan()


class Candidate(NamedTuple):
    """A file that may hold something of interest. An empty ``kind`` is the one that its name tells."""

    relative: str
    location: str
    kind: str = ""
    stamp: Stamp | None = None
    matches: array[int] | None = None
    """Those of the rules' words in a Python file of that stamp, as :meth:`npuify.words.Words.matches` packs them."""
    concerns: bool = True
    """Whether it concerns any rule; else it only names what the ledger accounts for."""


class _Found(NamedTuple):
    """What was found in one file; ``seen`` is a Python file as the rules saw it, ``parts`` the ledger of its parts."""

    findings: list[Finding]
    errors: list[FileError]
    seen: Findings | None = None
    parts: list[LedgerEntry] | None = None


class Worker:
    """Analyses files, with the tables loaded once.

    Args:
        torch_npu: the release aimed at.
        selection: which rules run.
        project: what is known of the project.
        plan: the style of the run.
        soc: the kind of chip aimed at, as :class:`npuify.rules.run.Run` takes it.
        tensorflow: the line of TensorFlow aimed at, as :class:`npuify.rules.run.Run` takes it.
        rules: those of ``selection``, where they were prepared already, which takes as long as looking at some files.
        vllm: the vLLM aimed at.
    """

    def __init__(
        self,
        torch_npu: str,
        selection: Selection,
        project: ProjectIndex,
        plan: StylePlan = NPU_STYLE,
        soc: str = "",
        rules: RuleSet | None = None,
        vllm: VllmAim = VllmAim(),  # noqa: B008 - it cannot be changed
        tensorflow: str = "",
    ) -> None:
        from npuify import knowledge

        self.torch_npu = torch_npu
        self.selection = selection
        self.rules = rules or RuleSet(rules_to_run(selection), plan.style, place_on_npu=plan.place_on_npu, soc=soc)
        self._selected = frozenset(rule.code for rule in all_rules().values() if selection.has(rule))
        self.run = Run(knowledge.load(torch_npu), project, Models(), plan, soc, vllm, tensorflow)
        self._options: ProgramOptions | None = None

    def __reduce__(
        self,
    ) -> tuple[type[Worker], tuple[str, Selection, ProjectIndex, StylePlan, str, None, VllmAim, str]]:
        run = self.run
        return Worker, (self.torch_npu, self.selection, run.project, run.plan, run.soc, None, run.vllm, run.tensorflow)

    def seeing(self, contents: Mapping[str, bytes]) -> Worker:
        """A worker for which some files of the project hold something else than on the disk."""
        run = self.run
        project = run.project.with_contents(contents)
        return Worker(self.torch_npu, self.selection, project, run.plan, run.soc, self.rules, run.vllm, run.tensorflow)

    def close(self) -> None:
        """Let go of what refers back to this worker, and would wait for the collector with it."""
        self._options = None
        self.run.models.forget()

    def options(self) -> ProgramOptions:
        """The options that the project's programs declare; read when the first launcher is analysed."""
        if self._options is None:
            self._options = self.options_of({})
        return self._options

    def options_of(self, contents: Mapping[str, bytes], *, is_migrated: bool = False) -> ProgramOptions:
        """The options that the project's programs declare where some files have other ``contents``."""
        return ProgramOptions(self.run.project, self.analyse, contents, is_migrated=is_migrated)

    def analyse_file(self, candidate: Candidate) -> Result:
        """What is found in one file; a failure of any kind becomes an error of that file."""
        try:
            with open(candidate.location, "rb") as stream:  # noqa: PTH123 - pathlib costs more than reading
                now = os.fstat(stream.fileno())
                raw = stream.read()
        except OSError as error:
            return Result(
                [], [FileError(candidate.relative, phrase("cannot be read: {value}", value=error.strerror or error))]
            )
        if not candidate.concerns:
            return self._mentioned(candidate, raw)
        unchanged = candidate.stamp == (now.st_mtime_ns, now.st_size) and len(raw) == now.st_size
        matches = candidate.matches if unchanged else None
        return self.analyse(
            candidate.relative, raw, whole=False, kind=candidate.kind, matches=matches, keeps_ledger=True
        )

    def _mentioned(self, candidate: Candidate, raw: bytes) -> Result:
        """The ledger of a file that concerns no rule."""
        kind = candidate.kind or kind_of_path(candidate.relative)
        run = self.run._replace(project=self.run.project.view())
        job = Job(run, self.analyse, self.options, keeps_ledger=True)
        words = search_template(candidate.relative, raw) if kind == "template" else []
        findings, ledger = self._accounted(candidate.relative, raw, kind, _Found(words, []), job)
        return Result(findings, [], frozenset(run.project.dependencies), ledger)

    def _accounted(
        self, relative: str, raw: bytes, kind: str, found: _Found, job: Job
    ) -> tuple[list[Finding], list[LedgerEntry]]:
        """The findings of a file, with what is said of the places that nothing is known of, and its ledger."""
        if found.parts is not None:
            return self._asked_for(found.findings), found.parts
        try:
            file, settled = (found.seen.file, found.seen.settled) if found.seen is not None else (None, [])
            text = file.source.text if file is not None else text_to_search(raw)
            accounted = account(relative, text, kind, found.findings, file, settled, job.run)
        except RecursionError:
            return self._asked_for(found.findings), []
        findings = self._asked_for(found.findings)
        entries = [self._if_asked_for(entry) for entry in accounted.entries]
        if not accounted.unknown or UNKNOWN.code not in self._selected:
            return findings, entries
        silenced = suppressed_codes(text, None)
        more = [one for one in accounted.unknown if silenced is None or not silenced(one)]
        return sorted([*findings, *more], key=_place), entries

    def _asked_for(self, findings: list[Finding]) -> list[Finding]:
        """Those of the rules that were selected: others may have run for the sake of the ledger."""
        if all(finding.code in self._selected for finding in findings):
            return findings
        return [finding for finding in findings if finding.code in self._selected]

    def _if_asked_for(self, entry: LedgerEntry) -> LedgerEntry:
        if entry.state is State.CLEARED or entry.by in self._selected:
            return entry
        return msgspec.structs.replace(entry, state=State.CLEARED, by="not-selected", because=entry.by)

    def analyse(
        self,
        relative: str,
        raw: bytes,
        *,
        needs_torch_npu: bool = False,
        whole: bool = True,
        kind: str = "",
        is_later_round: bool = False,
        matches: array[int] | None = None,
        options: ProgramOptions | None = None,
        keeps_ledger: bool = False,
    ) -> Result:
        """What is found in a file's content.

        Args:
            relative: the file's path in the project.
            raw: its content.
            needs_torch_npu: earlier edits put names into it that exist only after ``import torch_npu``.
            whole: parse also what can hold nothing of interest.
            kind: found by the file's name where it is not given.
            is_later_round: edits of this run were applied to the file already.
            matches: those of the rules' words in it, where they are known.
            options: what the project's programs declare, where it is not what their files say.
            keeps_ledger: account for every place that concerns CUDA.
        """
        kind = kind or kind_of_path(relative)
        self.run.models.start_file()
        run = self.run._replace(project=self.run.project.view())
        asked: list[ProgramOptions] = []

        def declared() -> ProgramOptions:
            asked.append(options or self.options())
            return asked[-1]

        def part(
            relative: str,
            raw: bytes,
            *,
            kind: str = "",
            needs_torch_npu: bool = False,
            whole: bool = True,
            is_later_round: bool = False,
        ) -> Result:
            result = self.analyse(
                relative,
                raw,
                kind=kind,
                needs_torch_npu=needs_torch_npu,
                whole=whole,
                is_later_round=is_later_round,
                options=options,
                keeps_ledger=keeps_ledger,
            )
            run.project.dependencies |= result.dependencies
            return result

        job = Job(run, part, declared, needs_torch_npu, is_later_round, keeps_ledger)
        found = self._found(relative, raw, kind, job, whole=whole, matches=matches)
        found = found._replace(findings=left_to_stack(found.findings, relative, raw, kind, run.project))
        if keeps_ledger:
            findings, ledger = self._accounted(relative, raw, kind, found, job)
        else:
            findings, ledger = self._asked_for(found.findings), []
        findings = doubted(findings, self.run.release.hardware, self.run.plan.style)
        dependencies = frozenset(run.project.dependencies).union(*(one.project.dependencies for one in asked))
        return Result(findings, found.errors, dependencies, ledger)

    def is_valid(self, relative: str, data: bytes, kind: str = "") -> bool:
        """Whether a file's text, as UTF-8, is of the format that its name tells."""
        kind = kind or kind_of_path(relative)
        if kind in ("python", "stub") and not parses(data):
            return False
        return all(analyser.is_valid(relative, kind, data) for analyser in analysers_for(relative, kind))

    def _found(
        self, relative: str, raw: bytes, kind: str, job: Job, *, whole: bool, matches: array[int] | None
    ) -> _Found:
        """What the rules for Python, the opt-ins and the analysers find in a file, in order of place."""
        found: list[Finding] = []
        errors: list[FileError] = []
        seen: Findings | None = None
        parts: list[LedgerEntry] | None = None
        if kind == "python":
            found, errors, seen, _ = self._python(relative, raw, job, whole=whole, matches=matches)
            if self.selection.opt_ins != NO_OPT_INS and not errors:
                found, errors = self._opted_in(relative, raw, found, job)
        elif kind == "stub":
            found, errors, seen, _ = self._python(relative, raw, job, whole=whole, matches=matches)
            found = [of_stub(one, self.run.plan.style) for one in found]
        if errors:
            return _Found(found, errors)
        others: Sequence[Analyser] = analysers_for(relative, kind)
        if kind == "python":
            # Few of them have anything to do with those that take them; their beginning tells.
            head = raw[:_HEAD].lower()
            others = [analyser for analyser in others if analyser.may_concern(head)]
        for analyser in others:
            more, failed, _, accounted = self._other(analyser, relative, kind, raw, job)
            # Several analysers may look at one file, and fail at the same.
            found, errors = [*found, *more], [*errors, *(one for one in failed if one not in errors)]
            if kind == "notebook" and (accounted or not failed):
                parts = accounted
        if others:
            found.sort(key=_place)
        return _Found(found, errors, seen, parts)

    def _other(self, analyser: Analyser, relative: str, kind: str, raw: bytes, job: Job) -> Result:
        try:
            text = Text(raw)
            found, problems, _, ledger = analyser.findings(relative, kind, text, job)
        except UnreadableText as error:
            if kind == "notebook":
                words, failed = search_undecoded(relative, raw, error)
                return Result(words if self.selection.has(UNPARSED) else [], failed)
            return Result([], [FileError(relative, error.message, error.line, phrase("it was left as it is"))])
        except Exception as error:  # one file's failure must not end the run
            return Result(
                [],
                [
                    FileError(
                        relative,
                        phrase("npuify failed on this file: {name}: {error}", name=type(error).__name__, error=error),
                    )
                ],
            )
        codes = self.rules.codes_on_tensorflow if self.run.project.on_tensorflow == "alone" else self.rules.codes
        selected = [restyle_other(finding, self.run.plan) for finding in found if finding.code in codes]
        silenced = suppressed_codes(text, None)
        kept = [finding for finding in selected if silenced is None or not silenced(finding)]
        return Result(kept, problems, ledger=ledger)

    def _opted_in(
        self, relative: str, raw: bytes, found: list[Finding], job: Job
    ) -> tuple[list[Finding], list[FileError]]:
        """``found`` with what the user asked for beyond the rules, in order of place."""
        try:
            with without_warnings():
                more = list(opt_in_findings(self.selection.opt_ins, relative, raw, job, found))
        except SyntaxError as error:
            # A part that was not parsed for the rules is broken, and here the whole file is parsed.
            tokens, failed = search_tokens(relative, raw, error)
            return (tokens if self.selection.has(UNPARSED) else []), failed
        except Exception as error:  # one file's failure must not end the run
            return found, [
                FileError(
                    relative,
                    phrase("npuify failed on this file: {name}: {error}", name=type(error).__name__, error=error),
                )
            ]
        more = [finding for finding in more if finding.code in self.rules.codes]
        if not more:
            return found, []
        silenced = suppressed_codes(Text(raw), None)
        more = [finding for finding in more if silenced is None or not silenced(finding)]
        found = beside_opt_ins(self.selection.opt_ins, relative, raw, job, found, more)
        return sorted([*found, *more], key=_place), []

    def _python(self, relative: str, raw: bytes, job: Job, *, whole: bool, matches: array[int] | None) -> _Found:
        try:
            text = Text(raw)
            if matches is not None and text.data is raw:
                self.rules.words.remember(text.lower, matches)
            with without_warnings():
                # Whether and how torch_npu is imported already, only the whole file says, and whether it is Python 3.
                if job.needs_torch_npu or job.run.plan.needs_whole(relative, raw) or may_be_python_2(raw):
                    whole = True
                alone = job.run.project.on_tensorflow == "alone"
                without = self.rules.without(text, job.run.project)
                to_parse = (
                    None if whole else self.rules.words_to_parse(text.lower, on_tensorflow=alone, without=without)
                )
                source = parse_file(relative, text, job.run, to_parse)
                rules = self.rules.for_file(text.lower, on_tensorflow=alone, without=without)
                seen = analyse(source, rules, self.rules.words, job.run, needs_torch_npu=job.needs_torch_npu)
                return _Found(seen.findings, [], seen)
        except UnreadableText as error:
            found, failed = search_undecoded(relative, raw, error)
            return _Found(found if self.selection.has(UNPARSED) else [], failed)
        except SyntaxError as error:
            found, failed = search_tokens(relative, raw, error)
            return _Found(found if self.selection.has(UNPARSED) else [], failed)
        except RecursionError:
            nested = FileError(
                relative, phrase("is nested too deeply to be looked at"), advice=phrase("it was left as it is")
            )
            return _Found([], [nested])
        except Exception as error:  # one file's failure must not end the run
            return _Found(
                [],
                [
                    FileError(
                        relative,
                        phrase("npuify failed on this file: {name}: {error}", name=type(error).__name__, error=error),
                    )
                ],
            )


def _place(finding: Finding) -> tuple[Position, Position, str]:
    return finding.start, finding.end, finding.code
