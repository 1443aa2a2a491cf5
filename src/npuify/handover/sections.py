"""The sections of SKILL.md, in the order in which a reader follows them.

Blocks of ``bash`` are run in that order in one shell. A word after ``bash`` says where a block belongs: ``install``
needs a package index, ``npu`` needs a machine with NPUs, ``documented`` was found in the project's pages and was not
tried.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.handover.marks import cell, code, line_of, prose
from npuify.handover.pages import basis
from npuify.knowledge.versions import release_info
from npuify.model import Severity
from npuify.report.doctor import Status as DoctorStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.handover.guide import Guide
    from npuify.handover.texts import Texts
    from npuify.model import Finding

_MOST_CHANGES: Final = 20
_MOST_POINTS: Final = 12
"""Rows of a table of SKILL.md; all of them are in the references."""


def body(guide: Guide, say: Texts) -> str:
    """Everything below the front matter."""
    parts = (
        _head,
        _versions,
        _begin,
        _install,
        _environment,
        _apply,
        _changes,
        _special,
        _start,
        _verify,
        _problems,
        _more,
    )
    lines: list[str] = []
    for part in parts:
        lines += [*part(guide, say), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(guide: Guide, say: Texts) -> Iterator[str]:
    record = guide.record
    yield f"# {say('title', project=prose(record.name))}"
    yield ""
    yield say("how-to-follow")
    yield ""
    yield f"## {say('state-title')}"
    yield ""
    if record.migration is not None:
        yield say("state-migrated", edits=len(record.changes), files=len(record.migration.changed_files))
    elif record.planned is not None:
        yield say("state-planned", edits=len(record.changes), files=len(record.planned.changed_files))
    yield ""
    yield from _row(say("what"), say("state"), say("evidence"))
    yield "|---|---|---|"
    for point in guide.checklist.points:
        if point.group != "code" and point.state != "nothing to do":
            yield from _row(_title(point.id, point.title, say), say(f"state {point.state}"), cell(basis(point)))
    yield ""
    yield say("nothing-on-hardware")


def _title(identifier: str, title: str, say: Texts) -> str:
    from npuify.handover.checklist import points

    if say.language != "zh":
        return title
    return next((point.title_zh for point in points() if point.id == identifier), title)


def _row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def _versions(guide: Guide, say: Texts) -> Iterator[str]:
    release = guide.record.scan.release
    info = release_info(release.torch_npu)
    yield f"## {say('versions-title')}"
    yield ""
    yield say("versions-why")
    yield ""
    yield from _row(say("package"), say("version"))
    yield "|---|---|"
    yield from _row("torch", f"`{release.torch}`")
    yield from _row("torch_npu", f"`{release.torch_npu}`")
    for package in guide.packages.with_torch:
        yield from _row(package.partition("==")[0], f"`{package.partition('==')[2] or say('any')}`")
    yield from _row("CANN", f"`{release.cann}`" if release.cann else say("unknown"))
    yield from _row("Python", ", ".join(f"`{python}`" for python in info.pythons))
    yield ""
    yield say("versions-chosen", reason=prose(release.reason))
    yield say("versions-known", evidence=say(f"evidence {info.evidence.value}"), source=prose(info.source))


def _begin(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 1. {say('begin-title')}"
    yield ""
    yield say("begin-what")
    yield ""
    yield "```bash"
    yield f'SKILL_DIR="${{SKILL_DIR:?{say("variable-skill-dir")}}}"'
    if guide.origin.address:
        yield f'SOURCE="${{SOURCE:-{guide.origin.address}}}"'
    else:
        yield f'SOURCE="${{SOURCE:?{say("variable-source")}}}"'
    yield f'PROJECT="${{PROJECT:-$PWD/{_folder(guide)}}}"'
    yield 'RUN="${RUN:-}"'
    yield "```"


def _folder(guide: Guide) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", guide.record.name).strip("-.") or "project"


def _install(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 2. {say('install-title')}"
    yield ""
    yield say("install-what")
    yield ""
    yield "```bash install"
    yield "python3 -m venv npu-venv"
    yield ". npu-venv/bin/activate"
    yield 'bash "$SKILL_DIR/scripts/install.sh"'
    yield "```"
    if guide.packages.unnamed:
        yield ""
        yield say("unnamed-what", modules=", ".join(code(name) for name in guide.packages.unnamed))
    if guide.packages.build:
        yield ""
        yield say("build-what")
        yield ""
        for wanted in guide.packages.build:
            assert wanted.fact is not None
            told = f"{prose(wanted.fact.message)} {prose(wanted.fact.advice)}"
            yield f"- {code(wanted.text)}: {told} ({prose(wanted.fact.source)}; {wanted.fact.evidence.value})"
    if guide.packages.drop:
        yield ""
        yield say("drop-what")
        yield ""
        for wanted in guide.packages.drop:
            why = wanted.fact.message if wanted.fact is not None else say("belongs-to-cuda")
            advice = wanted.fact.advice if wanted.fact is not None else ""
            yield f"- {code(wanted.text)}: {prose(why)} {prose(advice)}".rstrip()


def _environment(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 3. {say('environment-title')}"
    yield ""
    yield say("environment-what")
    yield ""
    yield "```bash"
    yield 'if [ -z "$RUN" ]; then . "$SKILL_DIR/scripts/environment.sh"; fi'
    yield "```"
    yield ""
    yield "```bash npu"
    yield "npu-smi info"
    yield "```"
    yield ""
    yield say("environment-check")
    yield ""
    yield "```bash"
    yield '$RUN python "$SKILL_DIR/scripts/check_npu.py"'
    yield "```"


def _apply(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 4. {say('apply-title')}"
    yield ""
    if guide.patch is None:
        yield say("apply-by-npuify")
        yield ""
        yield "```bash"
        yield f'${{NPUIFY:-npuify}} migrate "$SOURCE" -o "$PROJECT" {_options(guide)} || [ $? -eq 1 ]'
        yield 'cd "$PROJECT"'
        yield "```"
        yield from _itself(guide, say)
        return
    yield say("apply-by-patch")
    yield ""
    yield "```bash"
    yield '[ ! -e "$PROJECT" ] || { echo "$PROJECT is there already" >&2; exit 1; }'
    yield 'if [ -d "$SOURCE" ]; then cp -R "$SOURCE" "$PROJECT"; else git clone "$SOURCE" "$PROJECT"; fi'
    yield 'cd "$PROJECT"'
    if guide.origin.commit:
        yield f'if [ ! -d "$SOURCE" ]; then git checkout --quiet {guide.origin.commit}; fi'
    if guide.patch.data:
        yield 'patch -p1 --forward --dry-run < "$SKILL_DIR/references/changes.patch"'
        yield 'patch -p1 --forward < "$SKILL_DIR/references/changes.patch"'
    yield "```"
    yield ""
    yield say("apply-otherwise")
    yield ""
    yield "```text"
    yield f'npuify migrate "$SOURCE" -o "$PROJECT" {_options(guide)}'
    yield "```"
    if guide.patch.left_out:
        yield ""
        yield say("patch-left-out", files=", ".join(code(name) for name in guide.patch.left_out[:_MOST_POINTS]))
    yield from _itself(guide, say)


def _itself(guide: Guide, say: Texts) -> Iterator[str]:
    """A project that is a package of its own."""
    if not guide.packages.itself:
        return
    yield ""
    yield say("install-itself")
    yield ""
    yield "```bash install"
    yield "python -m pip install --no-deps --no-build-isolation --editable ."
    yield "```"
    yield ""
    yield say("rehearse-itself")
    yield ""
    place = "$PROJECT/src:$PROJECT" if (guide.record.root / "src").is_dir() else "$PROJECT"
    yield "```bash"
    yield f'if [ -n "$RUN" ]; then export PYTHONPATH="{place}${{PYTHONPATH:+:$PYTHONPATH}}"; fi'
    yield "```"


def _options(guide: Guide) -> str:
    """The options of ``npuify migrate`` that give the same edits."""
    scan = guide.record.scan
    style = f" --style {scan.style}" if scan.style != "npu" else ""
    return f"--torch-npu {scan.release.torch_npu}{style}{' --unsafe' if guide.unsafe else ''}"


def _changes(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('changes-title')}"
    yield ""
    made = guide.record.changes
    if not made:
        yield say("no-changes")
        return
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in made:
        groups.setdefault((one.code, one.name), []).append((one.file, one.message))
    yield from _row(say("rule"), say("places"), say("files"), say("why"))
    yield "|---|---:|---|---|"
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    for (rule, name), places in ordered[:_MOST_CHANGES]:
        files = list(dict.fromkeys(file for file, _ in places))
        shown = ", ".join(code(file) for file in files[:3]) + (" …" if len(files) > 3 else "")
        ((why, _),) = Counter(message for _, message in places).most_common(1)
        yield from _row(f"{rule} {code(name)}", str(len(places)), shown, cell(why))
    yield ""
    yield say("changes-all", count=len(made))
    if guide.by_hand:
        yield say("changes-by-hand", files=", ".join(code(name) for name in guide.by_hand[:_MOST_POINTS]))


def _left(guide: Guide) -> list[Finding]:
    record = guide.record
    findings = record.planned.left if record.planned is not None else record.scan.findings
    order = tuple(Severity)
    return sorted(findings, key=lambda one: (order.index(one.severity), one.file, one.start))


def _special(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('special-title')}"
    yield ""
    left = _left(guide)
    survey = guide.record.scan.survey
    if not left and not survey.operators and not survey.kernels:
        yield say("open-none")
        return
    weighty = [one for one in left if one.severity is not Severity.INFO]
    if weighty:
        yield say("special-open", count=len(weighty))
    shown = list({(one.code, one.message): one for one in reversed(left)}.values())[::-1][:_MOST_POINTS]
    for one in shown:
        same = [other for other in left if (other.code, other.message) == (one.code, one.message)]
        places = [f"{other.file}:{other.start.line}" for other in same]
        more = f" (+{len(places) - 1})" if len(places) > 1 else ""
        yield f"- {one.severity.value} {one.code} {code(places[0])}{more}: {prose(one.message)}"
        if one.advice:
            yield f"  {prose(one.advice)}"
    if len(left) > len(shown):
        yield ""
        yield say("special-all", count=len(left))
    for operator in survey.operators[:_MOST_POINTS]:
        ways = "; ".join(operator.ways[:2]) or operator.equivalent
        yield f"- {say('kernel')} {code(operator.name)} ({code(operator.file)}): {operator.difficulty}. {prose(ways)}"
    if survey.kernels and not survey.operators:
        yield f"- {say('kernel-files')}: {', '.join(code(name) for name in survey.kernels[:_MOST_POINTS])}"


def _start(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 5. {say('start-title')}"
    yield ""
    given = [one for one in guide.starts if one.kind == "given"]
    others = [one for one in guide.starts if one.kind != "given"]
    if given:
        yield say("start-given")
        yield ""
        yield "```bash"
        yield from (one.with_runner for one in given)
        yield "```"
    else:
        yield say("start-none-given")
    ready = [one for one in others if one.complete]
    if ready:
        yield ""
        yield say("start-documented")
        yield ""
        yield "```bash documented"
        for one in ready:
            yield f"# {line_of(one.where)}"
            yield one.with_runner
        yield "```"
    incomplete = [one for one in others if not one.complete]
    if incomplete:
        yield ""
        yield say("start-incomplete")
        yield ""
        yield from (f"- {code(one.command)} ({code(one.where)})" for one in incomplete)
    yield ""
    yield say("start-many")
    yield ""
    entry = _program(guide)
    yield "```text"
    yield f"npuify launch {entry} --cards 8 --method torchrun -o launch"
    yield "```"


def _program(guide: Guide) -> str:
    """The program to name where one has to be: that of the commands given, else one that trains, else the first."""
    words = [word for start in guide.starts if start.kind == "given" for word in start.command.split()]
    programs = [word for word in words if word.endswith(".py")]
    programs += [point.file for point in guide.record.scan.survey.entry_points]
    if not programs:
        return "train.py"
    return programs[0] if words else next((name for name in programs if "train" in name), programs[0])


def _verify(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## 6. {say('verify-title')}"
    yield ""
    yield say("verify-what")
    yield ""
    yield "```text"
    yield _acceptance(guide)
    yield "```"
    yield ""
    yield from _row(say("step"), say("command"), say("expected"), say("seen"))
    yield "|---|---|---|---|"
    states = {point.id: point for point in guide.checklist.points}
    for identifier, command in _STEPS:
        point = states[identifier]
        seen = say(f"state {point.state}")
        if point.state in ("done", "failed", "open"):
            seen = f"{seen}: {cell(basis(point))}"
        yield from _row(_title(point.id, point.title, say), code(command), say(f"expected {identifier}"), seen)
    yield ""
    yield say("verify-reference")


_STEPS: Final = (
    ("machine", "npuify doctor --project ."),
    ("forward", "npuify verify steps …"),
    ("backward", "npuify verify steps …"),
    ("compare", "npuify verify compare REFERENCE NPU"),
    ("iterations", "npuify verify steps …"),
    ("loss", "npuify verify loss REFERENCE NPU"),
    ("resume", "npuify verify steps …"),
    ("cards", "npuify verify steps …"),
    ("profile", "npuify verify profile FOLDER"),
)


_KEPT: Final = '--format json --output "$PROJECT/npuify-report/steps.json"'


def _acceptance(guide: Guide) -> str:
    """The command that runs the acceptance; the project's own one in it, where one is known."""
    # What really was run says more than what can be put together.
    asked = next((one.asked for one in guide.record.seen if one.asked), ())
    if asked:
        return f'npuify verify steps "$SOURCE" --migrated "$PROJECT" {shlex.join(asked)} {_KEPT}'
    given = [one.command for one in guide.starts if one.kind == "given"]
    trains = next((at for at, one in enumerate(given) if "train" in one), len(given) - 1)
    entry = _on_each_device(given[trains]) if given else f"{_program(guide)} ARGUMENTS"
    first = f"--prepare {shlex.quote(_on_each_device(given[trains - 1]))} " if trains > 0 else ""
    quoted = f'"{entry}"' if not re.search(r'["$`\\]', entry) else shlex.quote(entry)
    return f'npuify verify steps "$SOURCE" --migrated "$PROJECT" {first}--entry {quoted} {_KEPT}'


def _on_each_device(command: str) -> str:
    """A command with the words for device and backend as ``verify steps`` fills them in for both sides."""
    command = re.sub(r"^python[\d.]*\s+", "", command)
    command = re.sub(r"(?<=[=\s])npu(?=[:\s]|$)", "{device}", command)
    return re.sub(r"(?<=[=\s])hccl(?=\s|$)", "{backend}", command)


def _problems(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('problems-title')}"
    yield ""
    record = guide.record
    problems = [f"{code(one.file)}: {prose(one.message)} {prose(one.advice)}".rstrip() for one in record.scan.errors]
    if record.doctor is not None:
        for result in record.doctor.results:
            if result.status in (DoctorStatus.ERROR, DoctorStatus.WARNING):
                mend = "; ".join(result.mend.commands) if result.mend is not None else ""
                problems.append(f"{prose(result.message)} {prose(result.advice)} {code(mend) if mend else ''}".rstrip())
    problems += [f"{prose(one.text)} ({code(one.file)})" for one in record.seen if one.outcome == "failed"]
    problems += [
        f"{code(f'{one.file}:{one.start.line}')}: {prose(one.message)}"
        for one in _left(guide)
        if one.severity is Severity.ERROR
    ]
    if not problems:
        yield say("problems-none")
    yield from (f"- {problem}" for problem in problems[:_MOST_POINTS])
    if len(problems) > _MOST_POINTS:
        yield f"- {say('special-all', count=len(problems))}"
    yield ""
    yield say("problems-diagnose")


def _more(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('more-title')}"
    yield ""
    yield f"- [references/checklist.md](references/checklist.md): {say('more-checklist')}"
    yield f"- [references/changes.md](references/changes.md): {say('more-changes')}"
    if guide.patch is not None:
        yield f"- [references/changes.patch](references/changes.patch): {say('more-patch')}"
    yield f"- [references/open-points.md](references/open-points.md): {say('more-open')}"
    yield f"- [references/requirements.txt](references/requirements.txt): {say('more-requirements')}"
    yield "- [scripts/install.sh](scripts/install.sh), [scripts/environment.sh](scripts/environment.sh), "
    yield f"  [scripts/check_npu.py](scripts/check_npu.py): {say('more-scripts')}"
