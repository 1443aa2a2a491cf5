"""timm's loader is told where it copies to CUDA."""

from __future__ import annotations

import pytest

from npuify.model import Severity

from ...harness import findings

HEAD = "import torch\nimport timm.data as td\nfrom timm.data import create_loader\nfrom timm.data.loader import PrefetchLoader as P\n"


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("create_loader(data, (3, 224, 224), 2)", Severity.ERROR),
        ("create_loader(data, 224, 2, use_prefetcher=True)", Severity.ERROR),
        ("td.create_loader(data, 224, 2, use_prefetcher=args.prefetcher)", Severity.WARNING),
        ("P(plain, mean, std)", Severity.ERROR),
        ("create_loader(data, 224, 2, use_prefetcher=False)", None),
        ("create_loader(data, 224, 2, device=device)", None),
        ("create_loader(data, **options)", None),
        ("P(plain, mean, std, 3, device)", None),
        ("mine.create_loader(data, 224, 2)", None),
    ],
)
def test_loader(line: str, severity: Severity | None) -> None:
    found = [item.severity for item in findings(f"{HEAD}loader = {line}\n") if item.code == "NPU818"]
    assert found == ([] if severity is None else [severity])
