"""The programs that rules write, and which statements of them are theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.selftest.areas.form import Form, changed_statements
from npuify.selftest.areas.written import STYLES, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Form", "cases", "changed_statements", "documented"]
CASES = Path(__file__).parents[2] / "tests" / "cases"


def documented() -> Iterator[Form]:
    """What stands under After in each rule's documentation, and what the other styles make of the same."""
    for code, rule, before, after, others in examples():
        yield Form(f"{code}/{rule.style or 'npu'}", before, after, rule.example_file, others)
        for style in STYLES[1:]:
            path = CASES / code / f"documented.{style}.out.py"
            if path.is_file():
                yield Form(f"{code}/{style}", before, path.read_text("utf-8"), rule.example_file, others)


def cases() -> Iterator[Form]:
    """What the case files hold, in each style."""
    for source in sorted(CASES.glob("*/*.in.py")):
        before = source.read_text("utf-8")
        stem = source.name.removesuffix(".in.py")
        for style in STYLES:
            path = source.with_name(f"{stem}.out.py" if style == "npu" else f"{stem}.{style}.out.py")
            if path.is_file():
                yield Form(f"{source.parent.name}/{stem}/{style}", before, path.read_text("utf-8"))
