"""Writes docs/simulated-operators.md: which operators of the `npu` namespace are simulated, from what source; in
English and in Chinese.

    python tools/simulated_operators.py

Needs torch. The tests hold the page against the table of operators.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tools.site.languages import CHINESE, ENGLISH, SiteLanguage, in_language  # noqa: E402

PAGE = ROOT / "docs" / "simulated-operators.md"
RELEASE = "2.14.0"

_TITLE = "Simulated operators"
_WRITTEN = "Written by `python tools/simulated_operators.py`; do not edit."
_TOP = (
    "Operators of `torch.ops.npu` (also attributes of `torch_npu`) in torch_npu {release}: {known} of {all} are "
    "computed on the simulated NPU and on fake tensors, with plain PyTorch, from the published definitions named "
    "here. They have run on no hardware: rounding, speed and random numbers are not those of a device."
)
_GRADIENTS = (
    '"Gradients" are the inputs that get one, as the package\'s own list of derivatives has it; "–": the operator has '
    "none."
)
_HEAD = ("operator", "gradients", "known from", "source", "otherwise than on a device")
_REST = "Not simulated"
_CALLING = "Calling one of these on the simulated NPU raises `NotImplementedError` with the operator's name."


def page(language: SiteLanguage = ENGLISH) -> str:
    """The whole page."""
    from npuify.knowledge import load
    from npuify.simulator.operators.install import coverage

    def said(text: str) -> str:
        return in_language(text, language) if text else ""

    rows = coverage(load(RELEASE).custom_operators)
    known = {name: row for name, row in rows.items() if row is not None}
    values = {"release": RELEASE, "known": len(known), "all": len(rows)}
    lines = [f"# {said(_TITLE)}", ""]
    for paragraph in (_WRITTEN, _TOP, _GRADIENTS):
        lines += [said(paragraph).format(**values), ""]
    lines += [f"| {' | '.join(map(said, _HEAD))} |", "| --- | --- | --- | --- | --- |"]
    lines += (
        f"| `{name}` | {', '.join(row.gradients) or '–'} | {row.evidence} "
        f"| {_escaped(row.source)} | {_escaped(said(row.note))} |"
        for name, row in known.items()
    )
    lines += ["", f"## {said(_REST)}", "", said(_CALLING), ""]
    return "\n".join([*lines, *(f"- `{name}`" for name in rows if name not in known), ""])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    for language in (ENGLISH, CHINESE):
        path = PAGE.with_suffix(f"{language.suffix}.md")
        path.write_text(page(language), encoding="utf-8", newline="\n")
        print(f"{path.relative_to(ROOT)} written")
