"""A capability that a check refuses far away: what the program is given lets it go on, or the place is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import output

if TYPE_CHECKING:
    from pathlib import Path

LIB = "import torch\n\ndef capable():\n    return torch.cuda.get_device_capability() >= (8, 0)\n"


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("from lib import capable\nif not capable():\n    raise SystemExit(1)\n", "(9, 0)"),
        ("from lib import capable\nok = capable()\nassert ok\n", "(9, 0)"),
        ("from lib import capable\nif capable():\n    raise SystemExit(1)\n", "(0, 0)"),
        ("from lib import capable\ndtype = 'bf16' if capable() else 'fp16'\n", "(0, 0)"),
        ("print(1)\n", "(0, 0)"),
        # What refuses and what chooses want different answers: that is a person's to decide.
        ("from lib import capable\nif not capable():\n    raise SystemExit(1)\nif capable():\n    print(1)\n", ""),
    ],
)
def test_in_another_file(main: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(LIB)
    (tmp_path / "main.py").write_text(main)
    text = output(LIB, root=tmp_path, name="lib.py")
    wanted = f"(torch.npu.get_device_capability() or {expected})" if expected else "torch.npu.get_device_capability()"
    assert f"    return {wanted} >= (8, 0)\n" in text
