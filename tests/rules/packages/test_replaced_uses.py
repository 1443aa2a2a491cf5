"""A package that nothing imports any more, since a module stands in its place, is no longer required."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.model import Safety
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

POOL = "from torch_scatter import scatter_add\n\n\ndef pool(x, at):\n    return scatter_add(x, at, dim=0)\n"
SETUP = """from setuptools import setup

setup(
    name="pool",
    install_requires=[
        "numpy",
        "torch-scatter>=2.0",
    ],
)
"""
REQUIRED = {
    "requirements.txt": "numpy\ntorch-scatter==2.1.2\ntqdm\n",
    "pyproject.toml": '[project]\nname = "pool"\ndependencies = [\n    "numpy",\n    "torch-scatter",\n]\n',
    "environment.yml": "dependencies:\n  - python=3.11\n  - pip:\n    - numpy\n    - torch_scatter\n",
    "setup.py": SETUP,
    "Dockerfile": "FROM python:3.11\nRUN pip install numpy torch-scatter==2.1.2 tqdm\n",
}


def _migrated(folder: Path, files: dict[str, str], **options: object) -> dict[str, str]:
    source, made = folder / "source", folder / "made"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, "utf-8")
    npuify.migrate(source, made, Options(**options))  # type: ignore[arg-type]
    return {name: (made / name).read_text("utf-8") for name in files}


@pytest.mark.parametrize("name", REQUIRED)
def test_it_leaves_every_file_that_requires_it(name: str, tmp_path: Path) -> None:
    made = _migrated(tmp_path, {"net/pool.py": POOL, name: REQUIRED[name]})
    assert "npuify_scatter" in made["net/pool.py"]
    assert "scatter" not in made[name]
    assert "numpy" in made[name]
    again = npuify.migrate(tmp_path / "made", None, Options(), mode="diff")
    assert again.diff == ""


STAYS = {
    "another name": {"net/other.py": "from torch_scatter import unheard_of\n"},
    "another module": {"net/other.py": "import torch_scatter\n\nprint(torch_scatter.__version__)\n"},
    "a fallback": {
        "net/other.py": "try:\n    from torch_scatter import scatter_add\nexcept ImportError:\n    scatter_add = None\n"
    },
    "a silenced import": {"net/other.py": "from torch_scatter import scatter_max  # npuify: ignore[NPU622]\n"},
    "an import by name": {"net/other.py": 'import importlib\n\nops = importlib.import_module("torch_scatter")\n'},
    "a file that cannot be read": {"net/other.py": "from torch_scatter import (\n"},
    "a notebook": {
        "look.ipynb": '{"cells": [{"cell_type": "code", "source": ["import torch_scatter"], "metadata": {}, "outputs": [], '
        '"execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    },
}


@pytest.mark.parametrize("why", STAYS)
def test_it_stays_where_something_still_needs_it(why: str, tmp_path: Path) -> None:
    required = REQUIRED["requirements.txt"]
    made = _migrated(tmp_path, {"net/pool.py": POOL, **STAYS[why], "requirements.txt": required})
    assert "torch-scatter==2.1.2" in made["requirements.txt"]


def test_it_stays_where_nothing_imported_it(tmp_path: Path) -> None:
    made = _migrated(tmp_path, {"main.py": "import torch\n", "requirements.txt": REQUIRED["requirements.txt"]})
    assert "torch-scatter==2.1.2" in made["requirements.txt"]


def test_in_the_portable_style_it_stays_for_cuda(tmp_path: Path) -> None:
    files = {"net/pool.py": POOL, "requirements.txt": REQUIRED["requirements.txt"]}
    made = _migrated(tmp_path, files, style="portable")
    assert "torch-scatter==2.1.2" in made["requirements.txt"] and "npuify_scatter" in made["net/pool.py"]


def test_it_leaves_with_the_edit_of_its_imports(tmp_path: Path) -> None:
    files = {
        "train.py": "import torch\nfrom bitsandbytes.optim import AdamW8bit\n\noptimizer = AdamW8bit([torch.ones(1)])\n",
        "requirements.txt": "bitsandbytes\ntqdm\n",
    }
    source = tmp_path / "source"
    source.mkdir()
    for name, text in files.items():
        (source / name).write_text(text, "utf-8")
    (found,) = [one for one in npuify.scan([source], Options()).findings if one.code == "NPU607"]
    assert found.safety is Safety.REVIEW
    assert npuify.migrate(source, None, Options(), mode="diff").diff.count("-bitsandbytes") == 0
    assert "-bitsandbytes\n" in npuify.migrate(source, None, Options(unsafe=True), mode="diff").diff
