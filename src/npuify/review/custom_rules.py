"""Custom rules while they are written: what is wrong with them, and what they would change."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from npuify.engine.scan import scan
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.rules.custom.findings import RULE
from npuify.rules.custom.reader import check_together, read_rules

_MOST = 200
"""Places that are listed."""


def try_rules(text: str, project: Path | None, *, is_json: bool = False) -> dict[str, Any]:
    """The number of rules in a text, and the places of a project that they are about.

    Args:
        text: as the file would hold it.
        project: None: the rules are only read.
        is_json: whether it is the vendor tool's JSON, and not TOML.

    Raises:
        NpuifyError: the rules are wrong, or the project is not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("rules.json" if is_json else "rules.toml")
        file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            rules = read_rules(file)
            check_together(file.name, rules)
        except NpuifyError as error:
            told = error.message.replace(str(file), file.name)
            raise NpuifyError(told, advice=error.advice, file=file.name, line=error.line) from None
        if project is None or not rules:
            return {"rules": len(rules), "places": [], "total": 0}
        options = Options(rules=(str(file),), select=(RULE.code,), cache=False)
        found = scan([project], options).findings
    places = [
        {
            "file": one.file,
            "line": one.start.line,
            "message": one.message,
            "before": " … ".join(edit.before for edit in one.edits),
            "after": " … ".join(edit.after for edit in one.edits),
        }
        for one in found
        if one.code == RULE.code
    ]
    return {"rules": len(rules), "places": places[:_MOST], "total": len(places)}
