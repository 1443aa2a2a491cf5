"""What becomes of the packages that a project asks for."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import Evidence, Severity
from npuify.rules.common.paddle import lies_with_paddle, stands_without_torch
from npuify.rules.packages.dependency_file import DependencyFile, admits, excludes_from, named_in_extras, raised
from npuify.rules.packages.dependency_rules import (
    DROPPED,
    FROM_SOURCE,
    NEEDS_WORK,
    OTHER_VERSION,
    PYTHON,
    REPLACED,
    STALE_LOCK,
    SUPPORTED,
)
from npuify.rules.packages.extras import judge_extras
from npuify.rules.packages.jax_set import judge_jax
from npuify.rules.packages.paddle_set import judge_paddle
from npuify.rules.packages.replaced_uses import safety_of_leaving
from npuify.rules.packages.tensorflow_set import NAMES as TENSORFLOW_NAMES
from npuify.rules.packages.tensorflow_set import is_on_tensorflow, judge_python, judge_tensorflow
from npuify.rules.packages.torch_set import judge_indexes, judge_torch
from npuify.rules.packages.vllm_set import DECIDED_BY_VLLM, judge_beside_vllm, judge_plugin_alone, judge_vllm
from npuify.rules.run import Result
from npuify.source.requirements import Spot, UnreadableRequirements, format_of, read
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.third_party.dependencies import Dependency
    from npuify.model import Finding
    from npuify.rules.job import Job
    from npuify.rules.registry import Rule
    from npuify.source.requirements import Entry
    from npuify.source.text import Text


class _Dependencies:
    """Judges files of requirements."""

    kinds = ("requirements", "toml", "ini", "yaml", "lock")

    def takes(self, relative: str, kind: str) -> bool:
        return format_of(relative, kind) is not None

    def may_concern(self, lower: bytes) -> bool:
        return True

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        try:
            document = read(format_of(relative, kind) or "", text.data)
        except UnreadableRequirements as error:
            raise UnreadableText(error.message, error.line) from None
        file = DependencyFile(
            relative,
            text,
            document,
            job.run.release,
            job.run.vllm,
            bool(job.run.project.on_tensorflow),
            partial(safety_of_leaving, run=job.run),
            b"torch" in text.data and lies_with_paddle(relative, job.run.project),
            b"python" in text.data and stands_without_torch(relative, job.run.project),
        )
        if document.locked_by:
            return Result(list(_lock(file)))
        return Result([] if file.is_for_prose else judge(file, job.run.tensorflow_around(relative)))

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        try:
            read(format_of(relative, kind) or "", data)
        except UnreadableRequirements:
            return False
        return True


ANALYSER = _Dependencies()


def judge(file: DependencyFile, tensorflow: str = "") -> list[Finding]:
    """What becomes of each requirement of a file, in order of place.

    ``tensorflow`` is the line of TensorFlow aimed at, as :class:`npuify.rules.run.Run` has it.
    """
    on_tensorflow = not file.is_for_other_devices and is_on_tensorflow(file)
    with_vllm = not file.is_for_other_devices and bool(file.named("vllm"))
    found: list[Finding] = [] if file.is_for_other_devices else list(judge_paddle(file))
    beside_vllm = not with_vllm and not file.is_for_other_devices and bool(file.vllm.required or file.vllm.target)
    found += [
        *(judge_plugin_alone(file) if not with_vllm else ()),
        *(judge_vllm(file) if with_vllm else judge_beside_vllm(file) if beside_vllm else judge_torch(file)),
        *judge_indexes(file),
    ]
    # An adapter's Python is older than every one that torch_npu has packages for.
    if on_tensorflow:
        found += judge_tensorflow(file, tensorflow)
    elif file.on_tensorflow and not file.is_for_other_devices and not file.named("torch", "jax", "paddlepaddle-gpu"):
        found += judge_python(file, tensorflow)
    elif not is_on_tensorflow(file):
        found += _python(file)
    for entry in file.entries:
        if on_tensorflow and entry.name in TENSORFLOW_NAMES:
            found += judge_extras(entry, DROPPED, file)
            continue
        if entry.name == "paddlepaddle-gpu" or (with_vllm and entry.name in DECIDED_BY_VLLM):
            continue
        if entry.name == "onnxruntime" and not file.is_for_other_devices:
            found += _beside_its_other_build(entry, file)
        found += _judge(entry, file)
    return sorted(found, key=lambda finding: (finding.start, finding.end, finding.code))


def _lock(file: DependencyFile) -> Iterator[Finding]:
    torch = file.named("torch")
    if torch and not file.named("torch-npu"):
        yield file.report(
            STALE_LOCK,
            torch[0],
            phrase(
                "{rpartition}, written by {locked_by}, pins torch without torch-npu",
                rpartition=file.relative.rpartition("/")[2],
                locked_by=file.document.locked_by,
            ),
            subject="torch",
            advice="regenerate the file from the migrated requirements",
        )


def _python(file: DependencyFile) -> Iterator[Finding]:
    if file.is_without_torch:
        return
    from npuify import knowledge

    pythons = next((row.pythons for row in knowledge.releases() if row.torch_npu == file.release.torch_npu), ())
    for entry in file.named("python"):
        if entry.dialect not in ("conda", "poetry", "pipenv") or not entry.specifier or not pythons:
            continue
        if any(admits(entry.specifier, f"{python}.{patch}") for python in pythons for patch in range(20)):
            continue
        spots = [file.version(entry, f"=={pythons[0]}")]
        if entry.dialect == "pipenv" and entry.version_span is not None:
            spots = [Spot(*entry.version_span, pythons[0])]
        yield file.report(
            PYTHON,
            entry,
            phrase(
                "torch-npu {torch_npu} has packages for Python {pythons}; {written} is not among them",
                torch_npu=file.release.torch_npu,
                pythons=commas(pythons),
                written=file.written(entry),
            ),
            # For Poetry a range has to be written, which the project's own code decides.
            spots=spots if entry.dialect != "poetry" else None,
            subject="python",
            advice="" if entry.dialect != "poetry" else phrase("require {pythons} or later", pythons=pythons[0]),
        )


def _judge(entry: Entry, file: DependencyFile) -> Iterator[Finding]:
    from npuify.knowledge.third_party.dependencies import dependency

    if not file.is_for_other_devices:
        yield from judge_extras(entry, DROPPED, file)
    row = dependency(entry.name, file.release.torch_npu)
    if row is None or (entry.dialect == "conda" and row.action == "replace"):
        return
    if file.is_for_other_devices and row.action != "keep":
        return
    if entry.name.startswith("jax") and (found := list(judge_jax(entry, file))):
        yield from found
        return
    message = _sentence(entry, row)
    if entry.name == "tensorflow-gpu" and not (file.on_tensorflow or is_on_tensorflow(file)) and entry.name_span:
        yield file.report(
            REPLACED,
            entry,
            "TensorFlow stands beside PyTorch here, and computes on the CPU: tensorflow-gpu asks for CUDA",
            spots=[Spot(*entry.name_span, "tensorflow")],
            subject=entry.name,
            evidence=Evidence.PACKAGE,
            source="package index: tensorflow, tensorflow-gpu, which ends with 2.12",
            advice="models on TensorFlow need the adapter, and one of its two versions",
        )
        return
    if entry.name == "horovod" and (file.on_tensorflow or is_on_tensorflow(file)):
        yield file.report(
            NEEDS_WORK,
            entry,
            "Horovod does not know NPUs; under TensorFlow the adapter's own functions take its place",
            subject=entry.name,
            advice="take it out when no module imports it any more",
            evidence=Evidence.DOCUMENTED,
            source="TensorFlow adapter: guide to porting Horovod programs",
        )
        return
    safety = file.leaving(entry.name) if row.action in ("manual", "drop", "source") else None
    if safety is not None:
        yield file.report(
            DROPPED,
            entry,
            phrase("{name}: modules of npuify take the place of all its imports (NPU622)", name=entry.name),
            spots=[entry.removal, *(None for _ in named_in_extras(entry, file))],
            safety=safety,
            severity=Severity.WARNING,
            evidence=Evidence.PACKAGE,
            source="the project's imports of it",
            subject=entry.name,
        )
    elif row.action == "keep":
        yield _kept(entry, row, message, file)
    elif row.action == "replace":
        yield _report(REPLACED, entry, row, message, file, [*_replaced(entry, row), *_in_extras(entry, file, row)])
    elif row.action == "drop":
        extras = [None for _ in named_in_extras(entry, file)]  # Poetry refuses an extra of what it does not know
        yield _report(DROPPED, entry, row, message, file, [entry.removal, *extras])
    else:
        yield _report(FROM_SOURCE if row.action == "source" else NEEDS_WORK, entry, row, message, file, [])


def _beside_its_other_build(entry: Entry, file: DependencyFile) -> Iterator[Finding]:
    """ONNX Runtime's build for the CPU beside that for an accelerator, which holds the CPU's provider as well."""
    others = [one for one in file.named("onnxruntime-gpu", "onnxruntime-cann") if one.group == entry.group]
    # Which of two extras is installed, Poetry is told; an extra keeps what it names.
    if others and not named_in_extras(entry, file):
        yield file.report(
            REPLACED,
            entry,
            "onnxruntime and onnxruntime-cann own the same files; the second has the provider of the CPU, too",
            spots=[entry.removal],
            subject=entry.name,
            evidence=Evidence.PACKAGE,
            source="the wheels of onnxruntime-cann 1.22.1 and 1.24.4",
            advice="" if entry.removal is not None else "require the second alone",
        )


def _sentence(entry: Entry, row: Dependency) -> str:
    """The row's message with the package's name in front, where it does not begin with a name itself."""
    message = row.message
    names = {entry.name, row.name, *row.also}
    begins_with_name = any(re.match(rf"{re.escape(name)}\b", message.lower().replace("_", "-")) for name in names)
    if begins_with_name:
        message = phrase(message)
    elif message[:1].islower():
        message = phrase("{name} {message}", name=entry.name, message=message)
    elif entry.name not in message.lower():
        message = phrase("{name}: {message}", name=entry.name, message=message)
    return message.rstrip(".。")


def _kept(entry: Entry, row: Dependency, message: str, file: DependencyFile) -> Finding:
    specifier = entry.specifier or ""
    if row.minimum and specifier and excludes_from(specifier, row.minimum):
        spots = [file.version(entry, raised(specifier, row.minimum))]
        return _report(
            OTHER_VERSION,
            entry,
            row,
            phrase("{message}; this requires {written}", message=message, written=file.written(entry)),
            file,
            spots,
        )
    if row.below and entry.specifier is not None and not entry.url and _may_reach(specifier, row.below):
        kept = "" if re.match(r"={2,3}", specifier) else specifier
        spots = [file.version(entry, f"{kept},<{row.below}" if kept else f"<{row.below}")]
        return _report(
            OTHER_VERSION,
            entry,
            row,
            phrase("{message}; require {name}<{below}", message=message, name=entry.name, below=row.below),
            file,
            spots,
        )
    return file.report(
        SUPPORTED,
        entry,
        phrase("{message}; kept", message=message),
        evidence=row.evidence,
        source=row.source,
        subject=entry.name,
        advice=row.advice,
    )


def _may_reach(specifier: str, bound: str) -> bool:
    """Whether a specifier admits ``bound`` or what is later."""
    return not specifier or not excludes_from(specifier, bound)


def _in_extras(entry: Entry, file: DependencyFile, row: Dependency) -> list[Spot]:
    name = re.split(r"[\s\[<>=!~]", row.replacement, maxsplit=1)[0]
    return [Spot(*span, name) for span in named_in_extras(entry, file)]


def _replaced(entry: Entry, row: Dependency) -> list[Spot | None]:
    if entry.name_span is None:
        by_address = bool(entry.url) and not entry.url.startswith("git+")
        return [Spot(entry.start, entry.end, row.replacement)] if by_address else [None]
    if entry.dialect in ("poetry", "pipenv"):
        return [
            Spot(*entry.name_span, row.replacement),
            Spot(*entry.version_span, "*") if entry.version_span else None,
        ]
    end = entry.version_span[1] if entry.version_span else entry.name_span[1]
    return [Spot(entry.name_span[0], end, row.replacement)]


def _report(
    rule: Rule, entry: Entry, row: Dependency, message: str, file: DependencyFile, spots: list[Spot | None]
) -> Finding:
    severity = row.severity if row.severity is not Severity.INFO or rule is NEEDS_WORK else rule.severity
    return file.report(
        rule,
        entry,
        message,
        spots=spots or None,
        safety=row.safety,
        severity=severity,
        evidence=row.evidence,
        source=row.source,
        subject=entry.name,
        advice=row.advice,
    )
