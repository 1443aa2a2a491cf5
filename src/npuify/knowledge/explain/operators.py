"""What an operator of CANN's is called for: the answers of ``npuify explain aclnnAdd``."""

from __future__ import annotations

import re

from npuify.knowledge.pytorch.aclnn import aclnn_table
from npuify.language import commas, phrase
from npuify.model import Evidence, Explanation

_INTERFACE = re.compile(r"(?:call )?(aclnn\w+?)(?:GetWorkspaceSize)?(?: failed.*)?$")
_VERSION = re.compile(r"V\d+$")
_SHOWN = 12
"""Operators that an answer names."""


def explain_operator_of_cann(what: str) -> Explanation | None:
    """Which operators of PyTorch call an interface or an operator type of CANN's; None for other words.

    Args:
        what: ``aclnnAdd``, ``aclnnAddGetWorkspaceSize``, ``MatMulV2``.
    """
    table = aclnn_table()
    found = _INTERFACE.match(what)
    name, rows = (found[1], table.aclnn) if found is not None else (what, table.type)
    operators = rows.get(name, ())
    base = _VERSION.sub("", name)
    others = tuple(one for one in rows if one != name and _VERSION.sub("", one) == base)
    if not operators and (found is None or not others):
        return None
    first = (
        phrase("{name} is the interface of an operator in CANN.", name=name)
        if found is not None
        else phrase("{name} is a type of operators in CANN, as graphs and the operator compiler call it.", name=name)
    )
    lines = [first]
    if operators:
        more = len(operators) - _SHOWN
        called = commas(operators[:_SHOWN])
        lines.append(
            phrase("Operators of PyTorch that call it: {called}, and {more} more.", called=called, more=more)
            if more > 0
            else phrase("Operators of PyTorch that call it: {called}.", called=called)
        )
    if others:
        lines.append(phrase("Other forms of it: {others}.", others=commas(others[:_SHOWN])))
    lines.append(
        phrase(
            "A log that names it says which operator was at work; the Python stack beside it is the true place only "
            "with ASCEND_LAUNCH_BLOCKING=1."
        )
    )
    source = phrase("sources of {repository} at {commit}", repository=table.repository, commit=table.commit)
    return Explanation(name, "operator of CANN", tuple(lines), (), source, Evidence.PACKAGE)
