"""CUDA's version is None: what parses it fails, unless a test keeps it from that."""

from __future__ import annotations

import pytest

from ...harness import findings

HEAD = "import torch\nfrom packaging.version import parse\n"


def severities(text: str) -> list[str]:
    """How severe each finding about the version is."""
    return [finding.severity.value for finding in findings(HEAD + text) if finding.code == "NPU132"]


@pytest.mark.parametrize(
    "text",
    [
        "major = int(torch.version.cuda.split('.')[0])\n",
        "version = torch.version.cuda\nmajor = int(version.split('.')[0])\n",
        "def version():\n    return torch.version.cuda\nnew = parse(version()) > parse('11') or version() >= '12'\n",
        "short = float(torch.version.cuda[:4])\n",
        "late = torch.version.cuda >= '12'\n",
        "from torch.version import cuda\nnumber = cuda.replace('.', '')\n",
        "if not torch.version.cuda:\n    print(torch.version.cuda.split('.'))\n",
        "import torch.version as v\nprint(v.cuda.split('.'))\n",
        "from torch import nn, version as v\nprint(v.cuda.split('.'))\n",
        "v = torch.version\nprint(v.cuda.split('.'))\n",
        "from torch.version import cuda as c\nprint(c.split('.'))\n",
        "print(((torch).version).cuda.split('.'))\n",
        "print(getattr(torch.version, 'cuda').split('.'))\n",
    ],
)
def test_what_parses_it_fails(text: str) -> None:
    assert "error" in severities(text)


@pytest.mark.parametrize(
    "text",
    [
        "print(torch.version.cuda)\n",
        "print(getattr(torch.version, 'cuda', None))\n",
        "version = torch.version.cuda\nprint(f'CUDA {version}')\n",
        "there = torch.version.cuda is not None\n",
        "new = torch.version.cuda is not None and parse(torch.version.cuda) > parse('11')\n",
        "name = torch.version.cuda.replace('.', '') if torch.version.cuda else 'cpu'\n",
        "name = None if torch.version.cuda is None else torch.version.cuda.replace('.', '')\n",
        "version = torch.version.cuda\nif version:\n    print(version.split('.'))\n",
        "def number():\n    version = torch.version.cuda\n    if version is None:\n        return 0\n    return int(version.split('.')[0])\n",
        "try:\n    major = int(torch.version.cuda.split('.')[0])\nexcept AttributeError:\n    major = 0\n",
    ],
)
def test_a_test_before_keeps_it_from_that(text: str) -> None:
    found = severities(text)
    assert found and "error" not in found
