"""The kinds of Ascend chips: what a program may ask of which of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase
from npuify.model import Evidence, NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``products.toml``; its head says what the fields mean."""

    name: str
    title: str
    """As it stands in a sentence."""
    names: list[str]
    soc_versions: tuple[int, int]
    bfloat16: bool
    inf_nan: bool
    fused_attention: bool
    trains: bool
    """Whether it is made for training."""
    evidence: Evidence
    source: str


@cache
def products() -> Mapping[str, Product]:
    """Every family by its name."""
    return {row.name: row for row in read_rows(DATA / "products.toml", "product", Product)}


def product(asked: str) -> Product:
    """The family that a chip belongs to.

    Args:
        asked: a family (``A2``), a chip (``910B3``, ``Ascend910_9391``), or the number of its SoC (``220``).

    Raises:
        NpuifyError: no chip is called so, or chips of two families are.
    """
    word = asked.strip().lower().removeprefix("ascend").lstrip(" -_")
    if word == "910b":
        raise NpuifyError(
            phrase("{asked} may be two chips", asked=asked),
            advice="npu-smi calls a first-generation chip 910B, too: give 910B1 to 910B4 or A2, or else 910ProB",
        )
    for row in products().values():
        first, last = row.soc_versions
        if word.isdecimal() and len(word) == 3 and word not in row.names and first <= int(word) <= last:
            return row
        for name in row.names:
            if word == name or (name.endswith("*") and word.startswith(name[:-1])):
                return row
    raise NpuifyError(
        phrase("no Ascend chip is called {asked!r}", asked=asked),
        advice="known: " + ", ".join(products()) + "; chips such as 910A, 310P3, 910B3, 910_9391; or a SoC's number",
    )
