"""Values of a chart that say by number how many cards a service asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Severity
from npuify.rules.environment.containers import CLUSTER

if TYPE_CHECKING:
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document, Value


def judge_cards_of_chart(document: Document, file: TextFile) -> None:
    """Report cards that values of vLLM's production stack ask for by number, where no type says of what.

    Its chart asks for ``nvidia.com/gpu`` then.
    """
    for value in document.values:
        if value.key != "requestGPU" or value.text in ("0", "", "null", "~"):
            continue
        beside = [one for one in document.values if one.path[:-1] == value.path[:-1]]
        if any(one.key == "requestGPUType" for one in beside) or not any(one.key == "modelURL" for one in beside):
            continue
        place = _line_behind(value, file)
        file.report(
            CLUSTER,
            (value.start, value.end),
            "the chart asks for nvidia.com/gpu, where requestGPUType does not name another resource",
            edits=[place] if place is not None else (),
            severity=Severity.ERROR,
            subject="requestGPU",
            advice=phrase("huawei.com/Ascend310P for the 310P, huawei.com/npu for the 950"),
        )


def _line_behind(value: Value, file: TextFile) -> Replacement | None:
    """``requestGPUType`` on a line of its own behind that of the number; None where the line holds more."""
    data = file.data
    line = max(data.rfind(b"\n", 0, value.start), data.rfind(b"\r", 0, value.start)) + 1
    end = re.compile(rb"[\"']?[ \t]*(?:#[^\r\n]*)?(?=\r\n?|\n|\Z)").match(data, value.end)
    if file.kind != "yaml" or data[line : value.key_start].strip() or end is None:
        return None
    blanks = data[line : value.key_start].decode()
    return end.end(), end.end(), f'{file.text.newline}{blanks}requestGPUType: "huawei.com/Ascend910"'
