"""Names that are gone from torch, asked for by getattr."""

from __future__ import annotations

import pytest

from ...harness import findings


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('f = getattr(torch, "symeig")', True),
        ('f = getattr(torch, "symeig", None)', False),
        ('f = torch.symeig if hasattr(torch, "symeig") else getattr(torch, "symeig")', False),
        ('f = getattr(object, "symeig")', False),
    ],
)
def test_a_name_that_is_asked_for_without_another(line: str, told: bool) -> None:
    assert ("NPU660" in [one.code for one in findings(f"import torch\n{line}\n")]) is told
