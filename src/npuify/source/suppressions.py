"""Comments that silence findings: ``# npuify: ignore`` and ``# npuify: ignore[NPU301, nccl-backend]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.model import Finding
    from npuify.source.python import PythonSource

_COMMENT = re.compile(rb"#\s*npuify:\s*(ignore-file|ignore)\b(?:\s*\[([^\]\r\n]*)\])?", re.IGNORECASE)


def suppressed_codes(source: PythonSource) -> Callable[[Finding], bool] | None:
    """A test for findings that a comment silences, or None where the file has no such comment.

    A comment counts for its line and for every line of the statement that ends there; ``ignore-file`` for the file.
    """
    if b"npuify:" not in source.data:
        return None
    lines: dict[int, set[str] | None] = {}
    whole: list[set[str] | None] = []
    for match in _COMMENT.finditer(source.data):
        listed = match.group(2)
        codes = {part.strip() for part in listed.decode().split(",") if part.strip()} if listed is not None else None
        if match.group(1).lower() == b"ignore-file":
            whole.append(codes)
        else:
            lines[source.text.line_of(match.start())] = codes

    def silenced(finding: Finding) -> bool:
        places = [lines[line] for line in range(finding.start.line, finding.end.line + 1) if line in lines]
        return any(codes is None or finding.code in codes or finding.name in codes for codes in (*places, *whole))

    return silenced
