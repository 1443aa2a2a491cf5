"""The numbered steps of SKILL.md, from an empty machine to a run that was verified."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from npuify.handover.checklist.pages import basis
from npuify.handover.skill.marks import cell, code, line_of, prose
from npuify.handover.skill.rows import MOST_POINTS, row, title
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.handover.skill.guide import Guide
    from npuify.handover.skill.texts import Texts


def begin(guide: Guide, say: Texts) -> Iterator[str]:
    """The variables that the later steps use."""
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


def install(guide: Guide, say: Texts) -> Iterator[str]:
    """Step 2: the packages."""
    yield f"## 2. {say('install-title')}"
    yield ""
    adapter = guide.stack.adapter
    if guide.stack.is_for_tensorflow:
        yield say("install-what-tensorflow", python=adapter.python.replace("|", " | ") if adapter is not None else "?")
    else:
        yield say("install-what")
    yield ""
    yield "```bash install"
    if guide.stack.is_for_tensorflow:
        # The oldest Python of all is the one that both lines take.
        yield '"${TENSORFLOW_PYTHON:-python3.7}" -m venv npu-venv'
    else:
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


def environment(guide: Guide, say: Texts) -> Iterator[str]:
    """Step 3: the environment, and whether it sees an NPU."""
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
    if not guide.has_check:
        return
    yield say("environment-check-tensorflow" if guide.stack.is_for_tensorflow else "environment-check")
    yield ""
    yield "```bash"
    yield '$RUN python "$SKILL_DIR/scripts/check_npu.py"'
    yield "```"


def apply(guide: Guide, say: Texts) -> Iterator[str]:
    """Step 4: the changes."""
    yield f"## 4. {say('apply-title')}"
    yield ""
    yield say("apply-or-carried")
    yield ""
    if guide.patch is None:
        yield say("apply-by-npuify")
        yield ""
        yield "```bash"
        yield phrase(
            '${{NPUIFY:-npuify}} migrate "$SOURCE" -o "$PROJECT" {options} || [ $? -eq 1 ]', options=_options(guide)
        )
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
        yield phrase('if [ ! -d "$SOURCE" ]; then git checkout --quiet {commit}; fi', commit=guide.origin.commit)
    if guide.patch.data:
        yield 'patch -p1 --forward --dry-run < "$SKILL_DIR/references/changes.patch"'
        yield 'patch -p1 --forward < "$SKILL_DIR/references/changes.patch"'
    yield "```"
    yield ""
    yield say("apply-otherwise")
    yield ""
    yield "```text"
    yield phrase('npuify migrate "$SOURCE" -o "$PROJECT" {options}', options=_options(guide))
    yield "```"
    if guide.patch.left_out:
        yield ""
        yield say("patch-left-out", files=", ".join(code(name) for name in guide.patch.left_out[:MOST_POINTS]))
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
    yield phrase('if [ -n "$RUN" ]; then export PYTHONPATH="{place}${{PYTHONPATH:+:$PYTHONPATH}}"; fi', place=place)
    yield "```"


def _options(guide: Guide) -> str:
    """The options of ``npuify migrate`` that give the same edits."""
    scan = guide.record.scan
    style = f" --style {scan.style}" if scan.style != "npu" else ""
    if guide.stack.is_for_tensorflow:
        line = f"--tf-adapter {guide.stack.adapter.version.removesuffix('.0')}" if guide.stack.adapter else ""
        return " ".join(filter(None, (line, style.strip(), "--unsafe" if guide.unsafe else "")))
    return phrase(
        "--torch-npu {torch_npu}{style}{value}",
        torch_npu=scan.release.torch_npu,
        style=style,
        value=" --unsafe" if guide.unsafe else "",
    )


def start(guide: Guide, say: Texts) -> Iterator[str]:
    """Step 5: the programs."""
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
    if guide.stack.is_for_tensorflow:
        line = _options(guide).removesuffix("--unsafe").strip()
        yield " ".join(f'npuify distribute "$SOURCE" --entry {entry} -o many-cards --unsafe {line}'.split())
    method = "tensorflow" if guide.stack.is_for_tensorflow else "torchrun"
    yield f"npuify launch {entry} --cards 8 --method {method} -o launch"
    yield "```"


def _program(guide: Guide) -> str:
    """The program to name where one has to be: that of the commands given, else one that trains, else the first."""
    words = [word for start in guide.starts if start.kind == "given" for word in start.command.split()]
    programs = [word for word in words if word.endswith(".py")]
    programs += [point.file for point in guide.record.scan.survey.entry_points]
    if not programs:
        return "train.py"
    return programs[0] if words else next((name for name in programs if "train" in name), programs[0])


def verify(guide: Guide, say: Texts) -> Iterator[str]:
    """Step 6: the acceptance, and what was seen of it."""
    yield f"## 6. {say('verify-title')}"
    yield ""
    yield say("verify-what")
    yield ""
    yield "```text"
    yield _acceptance(guide)
    yield "```"
    yield ""
    yield from row(say("step"), say("command"), say("expected"), say("seen"))
    yield "|---|---|---|---|"
    states = {point.id: point for point in guide.checklist.points}
    for identifier, command in _STEPS:
        point = states[identifier]
        seen = say(f"state {point.state}")
        if point.state in ("done", "failed", "open"):
            seen = f"{seen}: {cell(basis(point))}"
        named = title(point, say, guide.stack)
        yield from row(named, code(command), say(f"expected {identifier}"), seen)
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
    asked = next((one.asked for one in guide.record.results if one.asked), ())
    if asked:
        return phrase(
            'npuify verify steps "$SOURCE" --migrated "$PROJECT" {asked} {KEPT}', asked=shlex.join(asked), KEPT=_KEPT
        )
    given = [one.command for one in guide.starts if one.kind == "given"]
    trains = next((at for at, one in enumerate(given) if "train" in one), len(given) - 1)
    entry = _on_each_device(given[trains]) if given else f"{_program(guide)} ARGUMENTS"
    first = f"--prepare {shlex.quote(_on_each_device(given[trains - 1]))} " if trains > 0 else ""
    quoted = f'"{entry}"' if not re.search(r'["$`\\]', entry) else shlex.quote(entry)
    return phrase(
        'npuify verify steps "$SOURCE" --migrated "$PROJECT" {first}--entry {quoted} {KEPT}',
        first=first,
        quoted=quoted,
        KEPT=_KEPT,
    )


def _on_each_device(command: str) -> str:
    """A command with the words for device and backend as ``verify steps`` fills them in for both sides."""
    command = re.sub(r"^python[\d.]*\s+", "", command)
    command = re.sub(r"(?<=[=\s])npu(?=[:\s]|$)", "{device}", command)
    return re.sub(r"(?<=[=\s])hccl(?=\s|$)", "{backend}", command)
