"""What is done only where it is asked for: the CPU fallback, stand-ins, packages of others."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.engine.catalog import all_rules
from npuify.helpers import CPU_FALLBACK, MARK, STAND_INS, helper_text
from npuify.knowledge import load, releases
from npuify.knowledge.pytorch.stand_ins import needed, stand_ins
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.rules.topics import TOPICS, codes_of_topics

from .packages.test_native import ADD, BINDING, SETUP

FALLBACK = Options(cache=False, jobs=1, cpu_fallback=True)
REPLACE = Options(cache=False, jobs=1, replace_unsupported=True)
POOL = "from torch_cluster import graclus_cluster\n\ndef pool(row, column):\n    return graclus_cluster(row, column)\n"


def _write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def _migrated(tmp_path: Path, files: dict[str, str | bytes], options: Options) -> Path:
    """The migrated copy; migrating that again changes nothing."""
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    npuify.migrate(source, target, options)
    again = npuify.migrate(target, None, options, mode="check")
    assert again.changed_files == ()
    return target


# --- what is written ---


@pytest.mark.parametrize("module", [CPU_FALLBACK, STAND_INS])
def test_helpers_are_python_of_any_project(module: str) -> None:
    text = helper_text(module).decode()
    assert text.splitlines()[0].startswith(f"# {MARK}")
    compile(text, module, "exec")
    assert "npuify" not in text.partition("\n")[2]
    assert "mypy" not in text
    assert ":=" not in text
    assert "match " not in text


def test_helpers_lie_in_the_package_or_beside_the_script(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "src/net/__init__.py": "",
        "src/net/layers/__init__.py": "",
        "src/net/layers/pool.py": POOL,
        "tools/run.py": POOL,
        "top.py": POOL,
    }
    out = _migrated(tmp_path, files, FALLBACK)
    helpers = sorted(path.relative_to(out).as_posix() for path in out.rglob(f"{CPU_FALLBACK}.py"))
    assert helpers == [f"{CPU_FALLBACK}.py", f"src/net/{CPU_FALLBACK}.py", f"tools/{CPU_FALLBACK}.py"]
    assert "from net.npuify_on_cpu import on_cpu\n" in (out / "src/net/layers/pool.py").read_text()
    assert "from npuify_on_cpu import on_cpu\n" in (out / "tools/run.py").read_text()


def test_nothing_is_written_that_nothing_uses(tmp_path: Path) -> None:
    out = _migrated(tmp_path, {"a.py": "import torch\nx = torch.ones(1).cuda()\n"}, FALLBACK)
    assert list(out.rglob(f"{CPU_FALLBACK}.py")) == []


def test_the_patch_holds_the_new_file(tmp_path: Path) -> None:
    result = npuify.migrate(_write(tmp_path, {"a.py": POOL}), None, FALLBACK, mode="diff")
    assert f"--- /dev/null\n+++ b/{CPU_FALLBACK}.py\n" in result.diff
    assert not (tmp_path / f"{CPU_FALLBACK}.py").exists()


def test_in_place(tmp_path: Path) -> None:
    npuify.migrate(_write(tmp_path, {"a.py": POOL}), None, FALLBACK, mode="in-place")
    assert (tmp_path / f"{CPU_FALLBACK}.py").read_bytes() == helper_text(CPU_FALLBACK)


# --- which calls ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import torch_cluster\ntorch_cluster.random_walk(x, y, z, 3)\n",
            "on_cpu(torch_cluster.random_walk)(x, y, z, 3)",
        ),
        ("import torch_cluster as tc\ntc.random_walk(x, y, z, 3)\n", "on_cpu(tc.random_walk)(x, y, z, 3)"),
        ("import torch_cluster as tc\ntc.knn(x, y, 3)\n", "import npuify_cluster as tc\ntc.knn(x, y, 3)\n"),
        ("import torch_scatter as ts\nts.scatter(x, i)\n", "import npuify_scatter as ts\nts.scatter(x, i)"),
        ("from torch_sparse import SparseTensor\nSparseTensor(row=x)\n", "\nSparseTensor(row=x)"),
        ("from other import scatter_add\nscatter_add(x)\n# torch_scatter\n", "\nscatter_add(x)"),
        ("import torch_scatter\nf = torch_scatter.scatter\n", "f = torch_scatter.scatter\n"),
    ],
)
def test_calls_of_packages(tmp_path: Path, before: str, after: str) -> None:
    out = _migrated(tmp_path, {"a.py": before}, FALLBACK)
    assert after in (out / "a.py").read_text()


def test_own_operators_that_have_an_implementation_for_the_cpu(tmp_path: Path) -> None:
    code = "import p_ops\n\ndef f(x):\n    p_ops.version()\n    return p_ops.add(p_ops.add_fast(x))\n"
    files: dict[str, str | bytes] = {"setup.py": SETUP, "csrc/bind.cpp": BINDING, "csrc/add.cu": ADD, "use.py": code}
    out = _migrated(tmp_path, files, FALLBACK)
    text = (out / "use.py").read_text()
    assert "return on_cpu(p_ops.add)(p_ops.add_fast(x))" in text
    assert "    p_ops.version()\n" in text


def test_without_the_option_nothing_of_it_happens(tmp_path: Path) -> None:
    result = npuify.migrate(_write(tmp_path, {"a.py": POOL}), None, Options(cache=False, jobs=1), mode="diff")
    assert result.diff == ""


# --- stand-ins ---


def test_no_release_needs_the_stand_ins_of_the_vendors_list() -> None:
    tables = [load(info.torch_npu) for info in releases() if info.has_table]
    assert len(tables) > 10
    for table in tables:
        assert not [name for name, row in needed(table).items() if row.vendor], table.torch_npu
    assert any(row.vendor for row in stand_ins())


def test_a_stand_in_is_taken_where_the_release_lacks_the_operator(tmp_path: Path) -> None:
    before = "import torch\nfrom torch import hypot as h\n\ny = torch.hypot(a, b) + h(a, b)\nz = torch.nn.functional.pad(a, (1, 1))\n"
    out = _migrated(tmp_path, {"a.py": before}, REPLACE)
    text = (out / "a.py").read_text()
    assert "y = npuify_stand_ins.hypot(a, b) + npuify_stand_ins.hypot(a, b)\n" in text
    assert "torch.nn.functional.pad(a, (1, 1))" in text
    assert "\nimport npuify_stand_ins\n" in text
    assert (out / f"{STAND_INS}.py").exists()


def test_a_stand_in_for_a_class_and_its_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npuify.rules.operators import stand_ins as module

    monkeypatch.setattr(
        module, "needed", lambda release: {name: row for row in stand_ins() for name in (row.name, *row.also)}
    )
    before = (
        "import torch.nn as nn\nfrom torch.nn import Conv3d\n\nclass A(nn.Conv3d):\n    pass\n\n"
        "m = nn.SyncBatchNorm.convert_sync_batchnorm(Conv3d(1, 1, 1))\n"
    )
    out = _migrated(tmp_path, {"net/__init__.py": "", "net/a.py": before}, REPLACE)
    text = (out / "net/a.py").read_text()
    assert "class A(npuify_stand_ins.Conv3d):" in text
    assert "npuify_stand_ins.SyncBatchNorm.convert_sync_batchnorm(npuify_stand_ins.Conv3d(1, 1, 1))" in text
    assert "from net import npuify_stand_ins\n" in text


# --- packages of others ---

PACKAGE: dict[str, str | bytes] = {
    "dep/__init__.py": "from .impl import outer, Layer, fine\nfrom .impl import Fast\nfast = Fast.apply\n",
    "dep/impl.py": (
        "import torch\n\ndef inner():\n    return torch.cuda.nccl.all_reduce([])\n\n"
        "def outer(x):\n    return inner()\n\ndef fine(x):\n    return x\n\n"
        "class Layer(torch.nn.Module):\n    def forward(self, x):\n        return self.helper(x)\n\n"
        "    def helper(self, x):\n        return outer(x)\n\n"
        "class Fast(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return inner()\n"
    ),
}


@pytest.mark.parametrize("folder", ["", "dep"])
def test_calls_are_followed_into_packages_of_others(tmp_path: Path, folder: str) -> None:
    source = _write(tmp_path / "source", PACKAGE)
    code = "import dep\nfrom dep import Layer, fast\n\ndep.outer(1)\ndep.fine(1)\nlayer = Layer()\nfast(2)\ndep.impl.inner()\n"
    project = _write(tmp_path / "project", {"a.py": code})
    options = Options(cache=False, jobs=1, select=("NPU760",), third_party=(str(source / folder),))
    found = npuify.scan([project], options).findings
    assert [(one.start.line, one.subject) for one in found] == [
        (4, "dep.outer"),
        (6, "dep.Layer"),
        (7, "dep.fast"),
        (8, "dep.impl.inner"),
    ]
    assert "dep/impl.py:4" in found[0].message
    assert "through dep.impl.inner" in found[0].message


def test_imports_that_fail_are_followed_into_packages_of_others(tmp_path: Path) -> None:
    package = {
        "dep/__init__.py": "from . import light\n",
        "dep/light.py": "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n",
        "dep/heavy.py": "from .kernels import run\n",
        "dep/kernels.py": "import flash_attn\n\ndef run(x):\n    return flash_attn.flash_attn_func(*x)\n",
        "other/__init__.py": "import dep.heavy\n",
    }
    source = _write(tmp_path / "source", package)
    code = "import dep\nimport other\nfrom dep import light\ntry:\n    from dep import heavy\nexcept ImportError:\n    pass\nfrom dep.heavy import run\nrun(1)\n"
    project = _write(tmp_path / "project", {"a.py": code})
    options = Options(cache=False, jobs=1, select=("NPU760",), third_party=(str(source),))
    found = npuify.scan([project], options).findings
    assert [(one.start.line, one.subject) for one in found] == [(2, "other"), (8, "dep.heavy"), (9, "dep.heavy.run")]
    assert "cannot be imported on an NPU unchanged (dep/kernels.py:1)" in found[0].message


def test_a_package_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="no folder"):
        npuify.scan([tmp_path], Options(cache=False, third_party=(str(tmp_path / "none"),)))


# --- questions ---


def test_questions_name_rules_that_exist() -> None:
    for codes in TOPICS.values():
        for code in codes:
            assert any(rule.startswith(code) for rule in all_rules()), code


def test_codes_about() -> None:
    assert codes_of_topics(["shapes, affinity", "shapes"]) == (*TOPICS["shapes"], *TOPICS["affinity"])
    with pytest.raises(NpuifyError, match="'colours'"):
        codes_of_topics(["colours"])
