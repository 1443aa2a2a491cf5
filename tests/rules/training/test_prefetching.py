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


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("p.add_argument('--dali-device', default='gpu', choices=['cpu', 'gpu'])", True),
        ("p.add_argument('--data-backend', default='dali-gpu')", True),
        ("p.add_argument('--dali', type=int, default=1)", True),
        ("p.add_argument('--dali-device', default='cpu')", False),
        ("p.add_argument('--data-backend', default='pytorch', choices=['dali-gpu', 'pytorch'])", False),
        ("p.add_argument('--no-dali', default=True)", False),
        ("p.add_argument('--use_dali', action='store_true')", False),
        ("p.add_argument('--dalimil', default='gpu')", False),
        ("p.add_argument('--dali-seed', default=12345, type=int)", False),
    ],
)
def test_default_that_chooses_dali(line: str, told: bool) -> None:
    text = f"import argparse\nimport torch\np = argparse.ArgumentParser()\n{line}\n"
    assert [item.code for item in findings(text) if item.code == "NPU820"] == (["NPU820"] if told else [])


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        (
            "import triton\nfrom triton.language.extra.cuda import libdevice\n",
            ["triton", "triton.language.extra.cuda.libdevice"],
        ),
        ("from triton.language.extra.cuda.libdevice import tanh\n", ["triton.language.extra.cuda.libdevice"]),
        (
            "from triton.language.extra import libdevice\n",
            ["triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"],
        ),
        ("from transformers import AwqConfig, AutoModel\n", ["transformers.AwqConfig"]),
        ("import transformers\nc = transformers.EetqConfig('int8')\n", ["transformers.EetqConfig"]),
        ("import nvidia_smi\nnvidia_smi.nvmlInit()\n", ["nvidia_smi"]),
        ("from py3nvml import py3nvml\n", ["py3nvml.py3nvml"]),
        ("from mine.quantizers import AwqConfig\n", []),
    ],
)
def test_modules_of_nvidia_inside_other_packages(text: str, subjects: list[str]) -> None:
    found = [item for item in findings(f"import torch\n{text}") if item.code in ("NPU620", "NPU645")]
    assert list(dict.fromkeys(item.subject for item in found if item.severity is not Severity.INFO)) == subjects
