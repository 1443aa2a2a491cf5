"""Extras of packages that bring CUDA's libraries: ``tensorflow[and-cuda]``, ``spacy[cuda12x]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.rules.registry import Rule
    from npuify.source.requirements import Entry

_EXTRAS: Final = re.compile(r"\s*\[(?P<names>[^\]]*)\]")
_OF_CUDA: Final = {
    "tensorflow": (re.compile(r"and-cuda"), "the libraries of CUDA that TensorFlow loads"),
    "spacy": (re.compile(r"cuda[\w-]*"), "CuPy"),
    "thinc": (re.compile(r"cuda[\w-]*"), "CuPy"),
    "verl": (re.compile(r"gpu"), "flash-attn and liger-kernel"),
    "tritonclient": (re.compile(r"cuda"), "CUDA's Python for shared memory"),
    "optimum": (re.compile(r"onnxruntime-gpu"), "onnxruntime-gpu"),
}
"""By package: which of its extras need CUDA, and what they bring."""
_INSTEAD: Final = {"optimum": "install onnxruntime-cann after it"}


def judge_extras(entry: Entry, rule: Rule, file: DependencyFile) -> Iterator[Finding]:
    """An extra that brings what an NPU machine has no use for is taken out."""
    row = _OF_CUDA.get(entry.name)
    if row is None or entry.name_span is None or entry.dialect == "conda":
        return
    extras = _EXTRAS.match(file.document.text, entry.name_span[1])
    names = [name.strip() for name in extras["names"].split(",")] if extras is not None else []
    kept = [name for name in names if not row[0].fullmatch(name)]
    if extras is None or len(kept) == len(names):
        return
    yield file.report(
        rule,
        entry,
        phrase("{written} brings {what}", written=file.written(entry), what=phrase(row[1])),
        spots=[Spot(*extras.span(), f"[{','.join(kept)}]" if kept else "")],
        safety=Safety.REVIEW,
        severity=Severity.WARNING,
        evidence=Evidence.PACKAGE,
        source="the packages' metadata on the index",
        subject=entry.name,
        advice=_INSTEAD.get(entry.name, ""),
    )
