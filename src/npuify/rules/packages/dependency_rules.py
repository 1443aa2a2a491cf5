"""The rules about what a project depends on, as they are listed; ``dependencies`` finds what they tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import Rule, list_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.model import Finding

_TABLE = "the table of packages; npuify says the source with each finding"


def _listed(
    code: str,
    name: str,
    safety: Safety,
    severity: Severity,
    example_file: str = "requirements.txt",
    evidence: Evidence = Evidence.DOCUMENTED,
    source: str = _TABLE,
) -> Callable[[Callable[[object, object], Iterator[Finding]]], Rule]:
    def register(documentation: Callable[[object, object], Iterator[Finding]]) -> Rule:
        return list_rule(
            Rule(code, name, safety, severity, evidence, source, (), (), documentation, (), False, example_file)
        )

    return register


@_listed("NPU600", "dependency-supported", Safety.MANUAL, Severity.INFO)
def SUPPORTED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """The required versions of the package work on NPUs; it stays."""
    raise NotImplementedError


@_listed("NPU604", "dependency-without-npu-version", Safety.REVIEW, Severity.ERROR)
def OTHER_VERSION(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """The required versions do not support NPUs: the first that does becomes the minimum.

    This may be a large step; read the package's release notes.

    Before::

        deepspeed==0.9.5

    After::

        deepspeed>=0.12.6
    """
    raise NotImplementedError


@_listed("NPU605", "dependency-with-npu-replacement", Safety.REVIEW, Severity.ERROR)
def REPLACED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """Another package replaces this one on NPUs.

    The version is dropped: the two packages' versions do not correspond.

    Before::

        onnxruntime-gpu==1.16.0

    After::

        onnxruntime-cann
    """
    raise NotImplementedError


@_listed("NPU606", "dependency-built-from-source", Safety.MANUAL, Severity.ERROR)
def FROM_SOURCE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """The package only runs on NPUs if built from source on a machine with CANN."""
    raise NotImplementedError


@_listed("NPU607", "cuda-only-dependency", Safety.SAFE, Severity.ERROR)
def DROPPED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """The package needs CUDA and has no NPU version: it is removed.

    CUDA packages that only torch itself uses are removed directly; packages that the project's own code may import are
    removed with ``--unsafe``, since their imports must be removed or guarded as well; so is, as safely as its imports
    are edited, a package that modules of npuify take the place of everywhere (NPU622), but not in the portable style. A
    line with a comment becomes a comment.

    Before::

        nvidia-cudnn-cu12==9.5.1.17
        tqdm

    After::

        tqdm
    """
    raise NotImplementedError


@_listed("NPU608", "dependency-needs-work", Safety.MANUAL, Severity.WARNING)
def NEEDS_WORK(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """The package works on NPUs partly, with an addition, or not at all; what to do needs a decision."""
    raise NotImplementedError


@_listed(
    "NPU609", "stale-lock-file", Safety.MANUAL, Severity.WARNING, evidence=Evidence.ASSUMED, source="the file's format"
)
def STALE_LOCK(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A lock file, or a compiled requirements file, has torch without torch-npu: regenerate it from the migrated
    requirements."""
    raise NotImplementedError


@_listed(
    "NPU610",
    "python-without-torch-npu",
    Safety.REVIEW,
    Severity.ERROR,
    "environment.yml",
    Evidence.DOCUMENTED,
    "the vendor's table of compatible versions",
)
def PYTHON(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """The environment requires a Python version for which the target torch-npu release has no package.

    Before::

        dependencies:
          - python=3.8.5
          - numpy

    After::

        dependencies:
          - python=3.10
          - numpy
    """
    raise NotImplementedError
