"""Names of PaddlePaddle that an NPU changes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence, Safety, Severity  # noqa: TC001 - the types of fields

if TYPE_CHECKING:
    from collections.abc import Mapping

STABLE = "3.0.0"
"""The newest Paddle for which a plug-in is documented as stable."""
WITH_PLUGIN = ("3.0.0", "3.1.0", "3.3.0")
"""Releases of which a plug-in of the same number is known; 3.0.0 is the documented one, for Python 3.8 to 3.10.

Paddle's index lists 3.0.0 (paddlepaddle.org.cn/packages/stable/npu). Users have installed 3.1.0
(PaddlePaddle/Paddle#74020: it does not load under another Paddle) and 3.3.0 (PaddlePaddle/PaddleCustomDevice#2452: for
CANN 8.0.0, it does not load with 8.5.1).
"""
INDEX = "https://www.paddlepaddle.org.cn/packages/stable/npu/"
"""Where Paddle's plug-in for NPUs is installed from."""


class PaddleName(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/paddle_names.toml``; its head says what ``how`` means."""

    cuda: str
    how: Literal["first", "rename", "whole", "tell"]
    safety: Safety
    severity: Severity
    message: str
    evidence: Evidence
    source: str
    npu: str = ""
    since: str = ""
    """The Paddle from which ``npu`` exists; empty: the oldest that has the custom device."""
    advice: str = ""
    with_keyword: str = ""
    """The keyword without which a call needs nothing; empty: any use counts."""


_CORE = ("paddle.framework.core.", "paddle.fluid.core.")
"""Other names of ``paddle.base.core``; ``paddle.fluid`` was its folder up to Paddle 2.4."""
FLUID = "paddle.fluid."
"""What Paddle had below this up to 2.4, it has in ``paddle`` or ``paddle.static`` by the same name."""


@cache
def paddle_names() -> Mapping[str, PaddleName]:
    """The rows by name."""
    return {row.cuda: row for row in read_rows(DATA / "frameworks" / "paddle_names.toml", "name", PaddleName)}


@cache
def paddle_name(name: str) -> PaddleName | None:
    """What is known of a qualified name; a row whose name ends in a star is about all that begin so."""
    if not name.startswith("paddle."):
        return None
    if name.startswith(_CORE):
        name = "paddle.base.core." + name.rpartition("core.")[2]
    if name.startswith(FLUID):
        last = name.removeprefix(FLUID)
        return paddle_names().get(f"paddle.{last}") or paddle_names().get(f"paddle.static.{last}")
    return paddle_names().get(name) or next((row for row in _families() if name.startswith(row.cuda[:-1])), None)


@cache
def _families() -> tuple[PaddleName, ...]:
    return tuple(row for row in paddle_names().values() if row.cuda.endswith("*"))
