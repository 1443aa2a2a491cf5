"""Names of packages that only CUDA has: which are replaced, which work, which are told where they are used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.helpers import PACKAGES, helper_text
from npuify.knowledge.third_party.members import member_of, members
from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.report.verdicts.packages import decision

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import Finding


def _told(text: str, code: str = "NPU623") -> list[tuple[int, str, Severity]]:
    return [(one.start.line, one.subject, one.severity) for one in findings(text) if one.code == code]


def test_every_replaced_name_is_in_its_module() -> None:
    for name, row in members().items():
        if row.outcome != "replaced":
            continue
        text = helper_text(row.module).decode()
        last = name.rpartition(".")[2]
        assert re.search(rf"^(?:def |class ){last}\b|^(?:\w+ = )*{last} = ", text, re.MULTILINE), name
    used = {row.module for row in members().values() if row.module}
    assert used == set(PACKAGES)


def test_a_name_has_the_row_nearest_to_it() -> None:
    for name, outcome in (
        ("flash_attn.modules.mha.MHA", "decide"),
        ("pytorch3d.transforms.quaternion_to_matrix", "works"),
        ("torch_scatter.scatter.scatter_add", "replaced"),
        ("cupy.cuda.Stream", "decide"),
    ):
        row = member_of(name)
        assert row is not None
        assert row.outcome == outcome
    assert member_of("torch_scatter.unheard_of") is None
    assert member_of("numpy.array") is None


def test_blocks_of_xformers_are_told_and_its_operators_replaced() -> None:
    text = (
        "from xformers.components import MultiHeadDispatch\nimport xformers.factory\n"
        "from xformers.ops import memory_efficient_attention, stack_or_none, unbind\n\n\n"
        "def f(x, q):\n"
        "    k, v = unbind(x, 0)\n"
        "    whole = stack_or_none((k, v), 0)\n"
        "    return MultiHeadDispatch(whole), xformers.factory.xFormer.from_config(x), memory_efficient_attention(q, k, v)\n"
    )
    assert [line for line, _, _ in _told(text)] == [8, 9, 9]
    changed = output(text)
    assert "from npuify_xformers import unbind\n" in changed
    assert "from xformers.ops import memory_efficient_attention, stack_or_none\n" in changed


def test_each_use_is_told_and_all_are_one_decision() -> None:
    text = (
        "import spconv.pytorch as spconv\nfrom spconv.pytorch import SparseConvTensor\n\n\n"
        "def net(x, at):\n"
        "    first = spconv.SubMConv3d(4, 8, 3)\n"
        "    return first, spconv.SparseSequential(first), SparseConvTensor(x, at, [8, 8, 8], 1)\n"
    )
    assert _told(text) == [
        (6, "spconv.pytorch.SubMConv3d", Severity.INFO),
        (7, "spconv.pytorch.SparseSequential", Severity.INFO),
        (7, "spconv.pytorch.SparseConvTensor", Severity.INFO),
    ]
    all_of_it: list[Finding] = [one for one in findings(text) if one.code in ("NPU620", "NPU623")]
    assert len({decision(one) for one in all_of_it}) == 1
    assert "mx_driving" in next(one for one in all_of_it if one.start.line == 6).advice


def test_a_name_that_another_keeps_from_being_replaced_is_told() -> None:
    layer = "layer = bnb.nn.Linear8bitLt(4, 4)\n"
    text = f"import bitsandbytes as bnb\n{{}}\n{layer}steps = {{}}(layer.parameters())\n"
    whole = text.format("", "bnb.optim.Adam8bit")
    assert [one[:2] for one in _told(whole)] == [
        (3, "bitsandbytes.nn.Linear8bitLt"),
        (4, "bitsandbytes.optim.Adam8bit"),
    ]
    named = text.format("from bitsandbytes.optim import Adam8bit", "Adam8bit")
    assert [one[:2] for one in _told(named)] == [(3, "bitsandbytes.nn.Linear8bitLt")]
    assert "from npuify_bitsandbytes import Adam8bit" in output(named, unsafe=True)
    alone = whole.replace(layer, "layer = model\n")
    assert _told(alone) == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import cupy\nexcept ImportError:\n    cupy = None\n\n\ndef f(x):\n    return cupy.asarray(x)\n",
        "import numba\n\n\n@numba.njit\ndef f(x):\n    return x\n",
        "cupy = object()\nprint(cupy.asarray)\n",
    ],
)
def test_what_is_not_needed_or_is_something_else_is_not_told(text: str) -> None:
    assert _told(text) == []


def test_cuda_code_as_text_stops_a_program() -> None:
    text = 'import cupy\n\nadd = cupy.RawKernel("", "add")\n\n\ndef f(x):\n    return cupy.asarray(x)\n'
    assert _told(text) == [(3, "cupy.RawKernel", Severity.ERROR), (7, "cupy.asarray", Severity.INFO)]
    # The import stops it, which is an error of its own.
    assert [one.severity for one in findings(text) if one.code == "NPU620"] == [Severity.ERROR]


def test_what_works_is_a_note() -> None:
    text = "import torch\nfrom pytorch3d.transforms import quaternion_to_matrix\n\nprint(quaternion_to_matrix(torch.ones(4)))\n"
    assert [one.severity for one in findings(text) if one.code == "NPU620"] == [Severity.INFO]
    mixed = text + "from pytorch3d.ops import knn_points\n\nprint(knn_points(1, 2))\n"
    assert [one.severity for one in findings(mixed) if one.code == "NPU620"] == [Severity.INFO, Severity.WARNING]
    assert [line for line, _, _ in _told(mixed)] == [7]


def test_a_release_without_a_kernel_is_named() -> None:
    text = "from torch_scatter import scatter_max\n\n\ndef f(x, i):\n    return scatter_max(x, i)\n"
    for release, lacks in (("2.13.0", False), ("2.8.0.post5", True)):
        (found,) = [one for one in findings(text, release=release) if one.code == "NPU622"]
        assert ("lists no kernel for scatter_reduce" in found.message) is lacks


def test_optimizers_of_8_bits_are_replaced_on_request() -> None:
    text = "import bitsandbytes as bnb\n\n\ndef f(params):\n    return bnb.optim.AdamW8bit(params, lr=1e-4)\n"
    (found,) = [one for one in findings(text) if one.code == "NPU622"]
    assert found.safety is Safety.REVIEW
    assert "import npuify_bitsandbytes as bnb" in output(text, unsafe=True)
    assert output(text) == text
    for other in ("bnb.optim.LAMB(params)", "bnb.optim.Adam8bit(params, amsgrad=True)", "bnb.nn.Linear4bit(2, 2)"):
        changed = text.replace("return", f"print({other})\n    return")
        assert output(changed, unsafe=True) == changed


def test_the_module_is_written(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/train.py").write_text(
        "import torch\nfrom torch_scatter import scatter_add\n\nx, i = torch.arange(6.0), torch.tensor([0, 1, 0, 1, 1, 0])\n"
        "print(scatter_add(x, i).tolist())\n"
    )
    npuify.migrate(tmp_path / "project", tmp_path / "made", Options(jobs=1, cache=False))
    assert (tmp_path / "made/npuify_scatter.py").exists()
    assert "from npuify_scatter import scatter_add" in (tmp_path / "made/train.py").read_text()


def test_a_module_lies_where_a_setup_py_installs_the_folder(tmp_path: Path) -> None:
    """Pointcept installs ``libs/pointops2/functions`` as the package ``pointops2``, though a package lies around it."""
    ops = tmp_path / "libs" / "ops"
    (ops / "functions").mkdir(parents=True)
    (ops / "__init__.py").write_text("")
    (ops / "functions" / "__init__.py").write_text("")
    (ops / "functions" / "pool.py").write_text(
        "import torch\nfrom torch_scatter import scatter_sum\n\n\ndef pool(x, i):\n    return scatter_sum(x.cuda(), i, dim=0)\n"
    )
    (ops / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='ops', packages=['ops'], package_dir={'ops': 'functions'})\n"
    )
    made = npuify.migrate(tmp_path, tmp_path.parent / f"{tmp_path.name}_npu", Options(jobs=1, cache=False))
    where = tmp_path.parent / f"{tmp_path.name}_npu" / "libs" / "ops" / "functions"
    assert "from ops.npuify_scatter import" in (where / "pool.py").read_text()
    assert (where / "npuify_scatter.py").is_file()
    assert made.destination


def test_a_folder_that_is_a_package_by_its_relative_imports(tmp_path: Path) -> None:
    """DirectVoxGO's ``lib`` has no ``__init__.py``, and is run from the folder above."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "run.py").write_text("from lib import grid\nprint(grid.pool)\n")
    (tmp_path / "lib" / "rays.py").write_text("def cast(x):\n    return x\n")
    (tmp_path / "lib" / "grid.py").write_text(
        "import torch\nimport torch_scatter\nfrom torch_scatter import segment_coo\nfrom .rays import cast\n\n\n"
        "def pool(x, i):\n    return torch_scatter.scatter_sum(segment_coo(cast(x).cuda(), i), i, dim=0)\n"
    )
    out = tmp_path.parent / f"{tmp_path.name}_npu"
    npuify.migrate(tmp_path, out, Options(jobs=1, cache=False))
    text = (out / "lib" / "grid.py").read_text()
    assert "from .npuify_scatter import segment_coo" in text
    assert "from . import npuify_scatter as torch_scatter" in text
    assert (out / "lib" / "npuify_scatter.py").is_file()


def test_graphs_and_the_rest_of_apex_come_from_modules() -> None:
    text = (
        "import torch\nfrom torch_cluster import knn_graph, random_walk\nfrom torch_sparse import spmm\n"
        "from apex.contrib.xentropy import SoftmaxCrossEntropyLoss\nfrom apex.contrib.sparsity import ASP\n\n\n"
        "def run(x, index, value, labels):\n"
        "    ASP.prune_trained_model(x, None)\n"
        "    edges = knn_graph(x, 4), random_walk(x, x, x, 3)\n"
        "    return edges, spmm(index, value, 3, 3, x), SoftmaxCrossEntropyLoss.apply(x, labels, 0.1)\n"
    )
    made = output(text)
    assert "from npuify_cluster import knn_graph" in made
    assert "from torch_cluster import random_walk" in made
    assert "from npuify_sparse import spmm" in made
    assert "from npuify_apex import SoftmaxCrossEntropyLoss" in made
    told = [one.subject for one in findings(text) if one.code == "NPU214"]
    assert told == ["apex.contrib.sparsity"]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("torch_scatter.scatter_add", "name of a package", "npuify_scatter"),
        ("flash_attn.modules.mha.MHA", "name of a package", "decided"),
        ("nvtx.annotate", "name of a package", "works"),
        ("torch_cluster", "package", "npuify_cluster"),
        ("torch-sparse", "package", "torch_sparse.spmm"),
        ("k2", "package", "k2.*"),
    ],
)
def test_explain_knows_names_of_packages(name: str, kind: str, said: str) -> None:
    """It told only of the package as a whole, and nothing of what is replaced."""
    found = npuify.explain(name)
    assert found.kind == kind
    assert any(said in line for line in found.text)


@pytest.mark.parametrize(
    ("path", "before", "written"),
    [
        (
            "src/tts/model/trainer.py",
            "from tts.model.parts import a\n",
            "from tts.model import npuify_bitsandbytes as bnb",
        ),
        ("src/tts/model/trainer.py", "from .parts import a\n", "from . import npuify_bitsandbytes as bnb"),
        ("src/tts/model/deep/trainer.py", "from ..parts import a\n", "from .. import npuify_bitsandbytes as bnb"),
        ("src/tts/model/trainer.py", "from model.parts import a\n", "from model import npuify_bitsandbytes as bnb"),
        ("model/trainer.py", "from .parts import a\n", "from model import npuify_bitsandbytes as bnb"),
    ],
)
def test_a_helper_is_imported_by_the_name_that_its_package_has(
    path: str, before: str, written: str, tmp_path: Path
) -> None:
    file = tmp_path / "project" / path
    file.parent.mkdir(parents=True)
    home = file.parent.parent if file.parent.name == "deep" else file.parent
    for folder in {home, file.parent}:
        (folder / "__init__.py").write_text("")
    (home / "parts.py").write_text("a = 1\n")
    file.write_text(
        f"import torch\nimport bitsandbytes as bnb\n{before}\n\ndef f(model):\n"
        "    return bnb.optim.AdamW8bit(model.cuda().parameters(), lr=1e-3)\n"
    )
    npuify.migrate(tmp_path / "project", tmp_path / "out", Options(unsafe=True, style="npu"))
    text = (tmp_path / "out" / path).read_text()
    assert f"\n{written}\n" in text
    assert (tmp_path / "out" / home.relative_to(tmp_path / "project") / "npuify_bitsandbytes.py").is_file()
