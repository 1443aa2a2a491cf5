"""What lies beside SKILL.md: scripts to run, and references to look things up in."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.handover.skill.marks import code, line_of
from npuify.knowledge.machine.drivers import cann_packages
from npuify.knowledge.release.versions import release_info
from npuify.language import phrase
from npuify.language.code import code_in_language
from npuify.model import Severity
from npuify.scripts.environment import environment_script
from npuify.scripts.template import filled, in_language

if TYPE_CHECKING:
    from npuify.handover.skill.guide import Guide
    from npuify.handover.skill.texts import Texts

_SCRIPTS: Final = Path(__file__).resolve().parents[1] / "scripts"


def scripts(guide: Guide) -> dict[str, bytes]:
    """The scripts by path."""
    if guide.stack.is_for_tensorflow:
        return _scripts_for_tensorflow(guide)
    release = guide.record.scan.release
    pythons = [[int(part) for part in python.split(".")] for python in release_info(release.torch_npu).pythons]
    with_torch = (f"torch=={release.torch}", *guide.packages.with_torch)
    install = filled(
        (_SCRIPTS / "install.sh").read_text(encoding="utf-8"),
        cann=release.cann or "?",
        pythons=str(pythons),
        torch_npu=release.torch_npu,
        torch_x86=" ".join(shlex.quote(f"{one}+cpu" if "==" in one else one) for one in with_torch),
        torch_arm=" ".join(shlex.quote(one) for one in with_torch),
        builds=_builds(guide),
    )
    return {
        "scripts/install.sh": install.encode("utf-8"),
        "scripts/environment.sh": environment_script(release).encode("utf-8"),
        "scripts/check_npu.py": _check("check_npu.py"),
    }


_CHECKS: Final = {"1": "check_npu_tensorflow_1.py", "2": "check_npu_tensorflow_2.py"}


def _scripts_for_tensorflow(guide: Guide) -> dict[str, bytes]:
    adapter = guide.stack.adapter
    environment = environment_script(guide.record.scan.release, tensorflow=True).encode("utf-8")
    if adapter is None:
        undecided = in_language((_SCRIPTS / "install_undecided.sh").read_text(encoding="utf-8")).encode()
        return {"scripts/install.sh": undecided, "scripts/environment.sh": environment}
    install = filled(
        (_SCRIPTS / "install_tensorflow.sh").read_text(encoding="utf-8"),
        package=adapter.package,
        python=adapter.python.replace("|", " or "),
        pythons=str([[_release_of(part) for part in bounds.split(",")] for bounds in adapter.python.split("|")]),
        packages=" ".join(shlex.quote(one) for one in (adapter.tensorflow, *adapter.also)),
        builds=_builds(guide),
    )
    return {
        "scripts/install.sh": install.encode("utf-8"),
        "scripts/environment.sh": environment,
        "scripts/check_npu.py": _check(_CHECKS[adapter.line]),
    }


def _check(name: str) -> bytes:
    return code_in_language((_SCRIPTS / name).read_text(encoding="utf-8")).encode("utf-8")


def _release_of(bound: str) -> list[int]:
    return [int(part) for part in bound.lstrip("<>=").split(".")]


def _builds(guide: Guide) -> str:
    """Comments and commands for what has to be built on the machine with the NPU."""
    lines = []
    for wanted in guide.packages.build:
        assert wanted.fact is not None
        lines += [
            "",
            f"# {line_of(wanted.text)}: {line_of(phrase(wanted.fact.message))}",
            f"# {line_of(phrase(wanted.fact.advice))}",
        ]
        lines.append(
            f"echo {shlex.quote(phrase('to be built by hand: {text}; see SKILL.md', text=line_of(wanted.text)))} >&2"
        )
    return "\n".join(lines)


def references(guide: Guide, say: Texts) -> dict[str, bytes]:
    """The references by path."""
    files = {
        "references/requirements.txt": _requirements(guide),
        "references/constraints.txt": _constraints(guide),
        "references/changes.md": _changes(guide, say),
        "references/open-points.md": _open_points(guide, say),
    }
    made = {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()}
    if guide.patch is not None:
        made["references/changes.patch"] = guide.patch.data
    return made


def _requirements(guide: Guide) -> str:
    release = guide.record.scan.release
    first = phrase(
        "For torch {torch} and torch_npu {torch_npu}, which are installed first.",
        torch=release.torch,
        torch_npu=release.torch_npu,
    )
    if guide.stack.is_for_tensorflow:
        first = phrase("For {name} and its TensorFlow, which are installed first.", name=guide.stack.name)
    lines = [f"# {first}", "# " + phrase("Imported by CANN's compiler of operators:")]
    own = {wanted.name for wanted in guide.packages.install}
    lines += [package.name for package in cann_packages() if package.name not in own]
    for file, group in groupby(guide.packages.install, key=lambda wanted: wanted.file):
        lines += [
            "",
            "# " + phrase("Asked for by {file}:", file=line_of(file)),
            *(line_of(wanted.text) for wanted in group),
        ]
    if guide.packages.unnamed:
        lines += [
            "",
            "# "
            + phrase("Its files import these modules too, and it says nowhere what holds them; packages that hold"),
        ]
        lines += ["# " + phrase("them may be called otherwise, so that a person has to name them here:")]
        lines += [f"# {module}" for module in guide.packages.unnamed]
    if guide.packages.drop or guide.packages.build:
        lines += ["", "# " + phrase("Not installed:")]
    for wanted in (*guide.packages.drop, *guide.packages.build):
        why = phrase(wanted.fact.message if wanted.fact is not None else "it belongs to CUDA")
        lines.append(f"# {line_of(wanted.text)}: {line_of(why)}")
    return "\n".join([*lines, ""])


def _constraints(guide: Guide) -> str:
    if guide.stack.is_for_tensorflow:
        adapter = guide.stack.adapter
        return "\n".join([adapter.tensorflow, *adapter.also, ""]) if adapter is not None else ""
    release = guide.record.scan.release
    # A pin without a local version also admits the builds for the CPU.
    pinned = [one for one in guide.packages.with_torch if "==" in one]
    return "\n".join([f"torch=={release.torch}", f"torch-npu=={release.torch_npu}", *pinned, ""])


def _changes(guide: Guide, say: Texts) -> str:
    rows = sorted(guide.record.changes)
    lines = [f"# {say('changes-title')}", ""]
    if not rows:
        lines += [say("no-changes"), ""]
    for file, group in groupby(rows, key=lambda row: row.file):
        lines += [f"## {code(file)}", ""]
        for one in group:
            edit = " → ".join(code(_short(text)) for text in (one.before, one.after) if text.strip())
            lines.append(f"- {one.line}, {one.code}: {edit} {line_of(one.message)}")
        lines.append("")
    if guide.by_hand:
        lines += [f"## {say('by-hand-title')}", "", *(f"- {code(name)}" for name in guide.by_hand), ""]
    return "\n".join(lines)


def _open_points(guide: Guide, say: Texts) -> str:
    lines = [f"# {say('open-title')}", ""]
    findings = guide.record.planned.left if guide.record.planned is not None else guide.record.scan.findings
    if not findings:
        lines += [say("open-none"), ""]
    for file, group in groupby(sorted(findings, key=lambda one: (one.file, one.start)), key=lambda one: one.file):
        lines += [f"## {code(file)}", ""]
        for one in group:
            severity = phrase(one.severity.value)
            weight = f"**{severity}**" if one.severity is not Severity.INFO else severity
            lines.append(f"- {one.start.line}, {one.code} {weight}: {line_of(one.message)}")
            if one.advice:
                lines.append(f"  - {line_of(one.advice)}")
        lines.append("")
    for error in guide.record.scan.errors:
        lines.append(f"- {code(error.file)}: {line_of(error.message)}")
    return "\n".join([*lines, ""])


def _short(text: str, limit: int = 80) -> str:
    flat = line_of(text)
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
