"""The argument ``async``, whose name is a keyword of Python today."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule
from npuify.source.python import STANDS_FOR_ASYNC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU667",
    "async-argument",
    Safety.SAFE,
    Severity.ERROR,
    words=("async=", "async ="),
    evidence=Evidence.REPORTED,
    source="pytorch/pytorch#3431: async became non_blocking, since Python 3.7 refuses the name",
)
def async_argument(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``x.cuda(async=True)`` is a syntax error since Python 3.7: the argument is called ``non_blocking``.

    PyTorch renamed it in 0.4; no release that an NPU has runs on an older Python. The rest of such a file is understood
    where nothing else in it keeps it from being parsed.

    Before::

        import torch
        x = torch.ones(2).to("cpu", async=True)

    After::

        import torch
        x = torch.ones(2).to("cpu", non_blocking=True)
    """
    for keyword in node.keywords:
        if keyword.arg != STANDS_FOR_ASYNC:
            continue
        start = file.source.start(keyword)
        end = start + len(STANDS_FOR_ASYNC)
        if file.source.segment(start, end) != "async":
            continue
        yield file.report(
            (start, end),
            phrase("async is a keyword of Python since 3.7; the argument is called non_blocking since PyTorch 0.4"),
            edits=[file.edit(start, end, "non_blocking")],
            subject="torch.Tensor.cuda",
        )
