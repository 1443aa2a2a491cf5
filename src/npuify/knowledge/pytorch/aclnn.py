"""Which operators of PyTorch call which of CANN's."""

from __future__ import annotations

from functools import cache

import msgspec

from npuify.knowledge.hand_written import DATA


class AclnnTable(msgspec.Struct, frozen=True):
    """``aclnn.json``, made by ``tools/aclnn_operators.py``: names of CANN's operators, and the names that call them."""

    repository: str
    commit: str
    aclnn: dict[str, tuple[str, ...]]
    """Interfaces: aclnnAdd."""
    type: dict[str, tuple[str, ...]]
    """Operator types, as graphs and the compiler of operators call them: Add, MatMulV2."""


@cache
def aclnn_table() -> AclnnTable:
    """The table."""
    return msgspec.json.decode((DATA / "aclnn.json").read_bytes(), type=AclnnTable)
