"""What a project asks of the machine: its requirements, its number formats, what its code still says of CUDA."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from npuify.language import commas, phrase
from npuify.model import Evidence, NpuifyError, Severity
from npuify.report.doctor import Mend, Result, Status

from .project_vllm import judge_vllm
from .sets import base_version

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import ScanResult

    from .facts import Facts

_BFLOAT16: Final = re.compile(
    r"\btorch\.bfloat16\b|\b(?:dtype|torch_dtype|mixed_precision|precision)\W{1,4}(?:torch\.)?b(?:float|f)16"
    r"|--bf16\b|\bbf16\s*[:=]\s*(?:True|true)\b|\.bfloat16\(\)"
)
_KINDS: Final = ("python", "notebook", "shell", "yaml", "json", "toml")
_PADDLE: Final = re.compile(
    rb"\bpaddlepaddle(?:-gpu)?[ \t]*==[ \t]*(?P<version>\d+(?:\.\d+)+(?:rc\d+)?)(?!\.?\d)(?!\.\*)(?=\W|\.post|\Z)"
)
_LARGEST: Final = 2 << 20


def scanned_for(facts: Facts, project: Path) -> ScanResult:
    """The project as a scan for the machine's torch_npu sees it."""
    from npuify.engine.scan import scan
    from npuify.knowledge.release.versions import choose_release
    from npuify.options import Options

    torch_npu = base_version(facts.python.packages.get("torch-npu", ""))
    try:
        release: str | None = choose_release(torch_npu, None).torch_npu if torch_npu else None
    except NpuifyError:
        release = None
    return scan([project], Options(torch_npu=release, jobs=1))


def tensorflow_line(scanned: ScanResult) -> str:
    """What a project asks of TensorFlow, as :class:`npuify.doctor.facts.Facts` keeps it."""
    from npuify.report.verdicts.scope import is_for_tensorflow

    return (scanned.tensorflow_line or "either") if is_for_tensorflow(scanned) else ""


def paddle_required(scanned: ScanResult, project: Path) -> str:
    """What a project asks of PaddlePaddle, as :class:`npuify.doctor.facts.Facts` keeps it.

    The files nearest its root count first; one that names a range, or none, asks for no version.
    """
    from npuify.project import find_files
    from npuify.report.verdicts.scope import foreign

    from .checks.paddle import ANY

    main = foreign(scanned)
    if main is None or main.name != "paddle":
        return ""
    files = find_files([project], kinds=("requirements", "toml", "docker", "shell", "yaml"))
    for file in sorted(files, key=lambda one: (one.relative.count("/"), one.relative)):
        try:
            data = file.path.read_bytes() if file.path.stat().st_size < _LARGEST else b""
        except OSError:
            continue
        if (found := _PADDLE.search(data)) is not None:
            return found["version"].decode()
    return ANY


def judge_project(facts: Facts, project: Path, scanned: ScanResult) -> tuple[Result, ...]:
    """What stands between this machine and ``project``; the project's code is read, never run."""
    results: list[Result] = []
    results += _requirements(facts, project)
    results += judge_vllm(facts, project)
    results += _bfloat16(facts, project)
    results += _findings(scanned, project)
    return tuple(results)


def _requirements(facts: Facts, project: Path) -> list[Result]:
    from npuify.project import torch_requirement

    wanted = torch_requirement(project)
    torch = base_version(facts.python.packages.get("torch", ""))
    if wanted is None or not wanted.specifier or not torch:
        return []
    try:
        fits = SpecifierSet(wanted.specifier).contains(torch, prereleases=True)
    except InvalidSpecifier:
        return []
    if fits:
        return []
    place = f"{wanted.file}:{wanted.line}" if wanted.line else wanted.file
    return [
        Result(
            check="project.requirements",
            status=Status.WARNING,
            message=phrase(
                "{place} requires torch{specifier}, but torch {torch} is installed",
                place=place,
                specifier=wanted.specifier,
                torch=torch,
            ),
            advice=phrase("migrate the project for the installed release; that also updates the pin"),
            mend=Mend((f"npuify migrate {_quoted(str(project))} -o {phrase('<folder>')} --torch-npu {torch}",)),
            evidence=Evidence.DOCUMENTED,
            source=place,
        )
    ]


def _bfloat16(facts: Facts, project: Path) -> list[Result]:
    from npuify.project import find_files

    chip = facts.chip
    if chip is None or chip.bf16:
        return []
    places = []
    for file in find_files([project], kinds=_KINDS):
        try:
            if file.path.stat().st_size > _LARGEST:
                continue
            text = file.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if _BFLOAT16.search(line):
                places.append(f"{file.relative}:{number}")
                break
    if not places:
        return []
    more = phrase(" and {value} more files", value=len(places) - 3) if len(places) > 3 else ""
    return [
        Result(
            check="project.bfloat16",
            status=Status.ERROR,
            message=phrase(
                "the project uses bfloat16, which {product} lacks: {places}{more}",
                product=chip.product,
                places=commas(places[:3]),
                more=more,
            ),
            advice=phrase("use float16 with a gradient scaler, or float32"),
            evidence=chip.evidence,
            source=chip.source,
        )
    ]


def _findings(found: ScanResult, project: Path) -> list[Result]:
    errors = [one for one in found.findings if one.severity is Severity.ERROR]
    if not errors:
        return []
    kinds = Counter(f"{one.code} {one.name}" for one in errors)
    shown = ", ".join(f"{name} ({count})" for name, count in kinds.most_common(3))
    first = errors[0]
    return [
        Result(
            check="project.findings",
            status=Status.ERROR,
            message=phrase(
                "the project still has {number} places that will not run on an NPU: {shown}; the first "
                "is {file}:{line}: {message}",
                number=len(errors),
                shown=shown,
                file=first.file,
                line=first.start.line,
                message=first.message,
            ),
            advice=phrase("run npuify migrate first"),
            mend=Mend((f"npuify scan {_quoted(str(project))}",)),
            evidence=first.evidence,
            source=first.source,
        )
    ]


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
