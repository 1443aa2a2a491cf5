"""Writes docs/simulated-operators.md: which operators of the `npu` namespace are simulated, from what source.

    python tools/simulated_operators.py

Needs torch. The tests hold the page against the table of operators.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

PAGE = ROOT / "docs" / "simulated-operators.md"
RELEASE = "2.14.0"

_TOP = """# Simulated operators

Written by `python tools/simulated_operators.py`; do not edit.

Operators of `torch.ops.npu` (also attributes of `torch_npu`) in torch_npu {release}: {known} of {all} are computed on
the simulated NPU and on fake tensors, with plain PyTorch, from the published definitions named here. They have run on
no hardware: rounding, speed and random numbers are not those of a device.

"Gradients" are the inputs that get one, as the package's own list of derivatives has it; "–": the operator has none.
"""
_HEAD = """
| operator | gradients | known from | source | otherwise than on a device |
| --- | --- | --- | --- | --- |
"""
_REST = """
## Not simulated

Calling one of these on the simulated NPU raises `NotImplementedError` with the operator's name.

{names}
"""


def page() -> str:
    """The whole page."""
    from npuify.knowledge import load
    from npuify.simulator.operators.install import coverage

    rows = coverage(load(RELEASE).custom_operators)
    known = {name: row for name, row in rows.items() if row is not None}
    lines = [
        f"| `{name}` | {', '.join(row.gradients) or '–'} | {row.evidence} "
        f"| {_escaped(row.source)} | {_escaped(row.note)} |"
        for name, row in known.items()
    ]
    missing = [f"- `{name}`" for name in rows if name not in known]
    return (
        _TOP.format(release=RELEASE, known=len(known), all=len(rows))
        + _HEAD
        + "\n".join(lines)
        + "\n"
        + _REST.format(names="\n".join(missing))
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"{PAGE.relative_to(ROOT)} written")
