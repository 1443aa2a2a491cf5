"""A capability that a check refuses far away: what the program is given lets it go on, or the place is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import findings, output

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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ask = functools.partial(torch.cuda.get_device_capability, 0)\n", True),
        ("table = {'capability': torch.cuda.get_device_capability}\n", True),
        ("def is_new(get=torch.cuda.get_device_capability):\n    return get() >= (7, 5)\n", True),
        ("def asked():\n    return torch.cuda.get_device_capability\n", True),
        ("q = torch.cuda.get_device_capability\nbest = max(map(q, range(2)))\n", True),
        ("q = torch.cuda.get_device_capability\nfound = q()\n", False),
        ("torch.cuda.get_device_capability = lambda: (8, 0)\n", False),
        ("has = hasattr(torch.cuda, 'get_device_capability')\n", False),
    ],
)
def test_the_function_itself_handed_on_is_told(text: str, told: bool) -> None:
    found = [one for one in findings(f"import functools\nimport torch\n{text}") if one.code == "NPU130"]
    assert any("by another name" in one.message for one in found) == told


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("print(torch.cuda.get_device_capability(0))", "info"),
        ("print(f'capability {torch.cuda.get_device_capability(0)}')", "info"),
        ("raise ValueError(str(torch.cuda.get_device_capability(0)))", "info"),
        # A text may be the name of something.
        ("arch = str(torch.cuda.get_device_capability(0))", "warning"),
        ("names['{}'.format(torch.cuda.get_device_capability(0))] = 1", "warning"),
        # What is kept is compared later.
        ("kept.append(torch.cuda.get_device_capability(0))", "error"),
        ("torch.cuda.get_device_capability(0)", None),
    ],
)
def test_a_text_that_says_none_is_told(line: str, severity: str | None) -> None:
    told = [
        one.severity.value
        for one in findings(f"import torch\nkept, names = [], {{}}\n{line}\n")
        if one.code == "NPU130"
    ]
    assert told == ([severity] if severity else [])
