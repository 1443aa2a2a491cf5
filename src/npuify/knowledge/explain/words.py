"""What a word names that is no name of Python's: a program of NVIDIA's, a chip, a code among other words."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from npuify.knowledge.failures.causes import explain_failure
from npuify.knowledge.frameworks.owners import frameworks
from npuify.knowledge.hand_written import environment
from npuify.knowledge.machine.chips import products
from npuify.knowledge.settings.commands import commands
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import commas, phrase
from npuify.model import Explanation, ReleaseRow

if TYPE_CHECKING:
    from npuify.knowledge.machine.chips import Product

_CODE = re.compile(r"\b(?:E[A-Z]\d{4}|ERR\d{5}|E[1-9]\d{4}|[1-5]\d{5})\b")
_ALIASES = {"paddlepaddle": "paddle"}
"""Packages whose framework the tables know by the name of its module."""


def explain_word(what: str) -> Explanation | None:
    """What is known of a program of NVIDIA's, a chip, a framework by its package, or a code among other words.

    Args:
        what: ``nvcc``, ``910B3``, ``Ascend310P3``, ``paddlepaddle``, ``tensorflow``, ``error code 507035``.
    """
    return _command(what) or _chip(what) or _framework(what) or _code_within(what)


def variables_of_npus() -> tuple[str, ...]:
    """Environment variables of Ascend's that take the place of CUDA's."""
    return tuple(dict.fromkeys(row.npu for row in environment().values() if row.npu and row.npu.isidentifier()))


def _command(what: str) -> Explanation | None:
    row = commands().get(what)
    if row is None:
        return None
    told = (phrase("On NPUs: {npu}", npu=row.npu),) if row.npu else ()
    return Explanation(what, "program", (*told, row.message), (), row.source, row.evidence)


def _chip(what: str) -> Explanation | None:
    """The families that a chip may be of: the name 910B is used for two."""
    word = what.strip().lower().removeprefix("ascend").lstrip(" -_")
    found = [row for row in products().values() if word == row.name.lower() or _has(row, word)]
    if not found and word == "910b":
        found = [row for row in products().values() if any(name.lower().startswith("910b") for name in row.names)]
    if not found:
        return None
    lines = [line for row in found for line in _of_product(row)]
    if word == "910b":
        lines = [phrase("npu-smi calls a first-generation chip 910B, too, which is another family (910)."), *lines]
    return Explanation(what, "chip", tuple(lines), (), found[0].source, found[0].evidence)


def _has(row: Product, word: str) -> bool:
    return any(fnmatchcase(word, name.lower()) for name in row.names)


def _of_product(row: Product) -> tuple[str, ...]:
    return (
        phrase("{title} ({name}): {names}", title=row.title, name=row.name, names=commas(row.names)),
        phrase("It computes in bfloat16.") if row.bfloat16 else phrase("It does not compute in bfloat16."),
        phrase("torch_npu runs attention there as one operator.")
        if row.fused_attention
        else phrase("torch_npu does not run attention there as one operator."),
    )


def _framework(what: str) -> Explanation | None:
    row = frameworks().get(_ALIASES.get(what, ""))
    if row is not None:
        return Explanation(
            what, "framework", tuple(filter(None, (row.message, row.advice))), (), row.source, row.evidence
        )
    if what not in ("tensorflow", "tf", "keras"):
        return None
    rows = tuple(
        ReleaseRow(
            one.version,
            one.package,
            phrase("{tensorflow}, Python {python}", tensorflow=one.tensorflow, python=one.python),
        )
        for one in adapters()
    )
    first = phrase("TensorFlow runs on NPUs with an adapter, for these versions only.")
    return Explanation(what, "framework", (first,), rows, adapters()[0].source, adapters()[0].evidence)


def _code_within(what: str) -> Explanation | None:
    found = _CODE.search(what) if " " in what else None
    return explain_failure(found[0]) if found is not None else None
