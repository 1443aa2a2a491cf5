"""JAX, which an Ascend machine runs on its CPU: without its plug-in for CUDA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.source.requirements import Entry

_EXTRAS = re.compile(r"\s*\[(?P<names>[^\]]*)\]")
_OF_CUDA = re.compile(r"cuda[\w.-]*|gpu|rocm[\w.-]*")
_BUILD = re.compile(r"\+cuda[\w.]*")

_CONDA_BUILD = re.compile(r"=[^=\s\"']*cuda[^=\s\"']*(?=[\s\"']*$)")
"""The build of a package of conda's, behind its version: ``jaxlib=0.4.23=*cuda*``."""


def _jax_with_cuda(node: object, file: object) -> Iterator[Finding]:
    """JAX is required with CUDA; Ascend has no plug-in for it, so that what stays on JAX runs on the CPU.

    Before::

        jax[cuda12]==0.4.30
        jaxlib==0.4.30+cuda12.cudnn91
        jax-cuda12-plugin
        tqdm

    After::

        jax==0.4.30
        jaxlib==0.4.30
        tqdm
    """
    raise NotImplementedError


JAX = list_rule(
    Rule(
        "NPU962",
        "jax-with-cuda",
        Safety.REVIEW,
        Severity.WARNING,
        Evidence.PACKAGE,
        "the package index: jax 0.10.2 and its extras; no plug-in for Ascend is published",
        (),
        (),
        _jax_with_cuda,
        example_file="requirements.txt",
    )
)


def judge_jax(entry: Entry, file: DependencyFile) -> Iterator[Finding]:
    """What becomes of a requirement of JAX with CUDA; nothing for one without."""
    spots: list[Spot | None] = []
    if entry.name.startswith("jax-cuda"):
        spots = [entry.removal]
    elif entry.dialect == "conda" and (conda := _CONDA_BUILD.search(file.document.text, entry.start, entry.end)):
        spots = [Spot(*conda.span(), "")]
    elif entry.name == "jaxlib" and (build := _BUILD.search(entry.specifier or "")) is not None:
        spots = [file.version(entry, (entry.specifier or "").replace(build.group(), ""))]
    elif entry.name == "jax" and entry.name_span is not None:
        extras = _EXTRAS.match(file.document.text, entry.name_span[1])
        names = [name.strip() for name in extras["names"].split(",")] if extras is not None else []
        kept = [name for name in names if not _OF_CUDA.fullmatch(name)]
        if extras is not None and len(kept) < len(names):
            spots = [Spot(*extras.span(), f"[{', '.join(kept)}]" if kept else "")]
    if not spots:
        return
    yield file.report(
        JAX,
        entry,
        phrase(
            "{written} brings JAX's plug-in for CUDA; on an Ascend machine JAX runs on the CPU only",
            written=file.written(entry),
        ),
        spots=spots,
        subject=entry.name,
        advice="set JAX_PLATFORMS=cpu; a model is to be rewritten with PyTorch",
    )
