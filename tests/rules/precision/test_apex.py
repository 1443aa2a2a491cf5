"""What is said of apex where nothing is edited, and that an edit never leaves a name unbound."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

from npuify.model import Safety

from ...harness import findings, output

CASES = Path(__file__).parents[2] / "cases"
APEX = sorted(CASES.glob("NPU21?/*.in.py"))


def _apex(text: str, release: str = "2.14.0") -> list[tuple[str, str]]:
    return [
        (item.code, item.subject) for item in findings(text, release=release) if item.code.startswith("NPU21")
    ]  # fmt: skip


def _unbound(text: str) -> set[str]:
    tree = ast.parse(text)
    bound = {alias.asname or alias.name.partition(".")[0] for node in ast.walk(tree)
             if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}  # fmt: skip
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound - set(dir(builtins))


@pytest.mark.parametrize("path", APEX, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_name_is_left_unbound(path: Path) -> None:
    before = path.read_text("utf-8")
    assert _unbound(output(before, unsafe=True)) <= _unbound(before)


@pytest.mark.parametrize(
    ("name", "subjects"),
    [
        ("NPU210/level_two", ["apex.amp.initialize", "apex.amp.scale_loss"]),
        ("NPU210/step_elsewhere", ["apex.amp.initialize", "apex.amp.scale_loss"]),
        ("NPU210/native_or_nothing", []),
        ("NPU210/torchs_own", []),
        ("NPU211/option_without_counterpart", ["apex.parallel.DistributedDataParallel"]),
        ("NPU211/one_of_two", ["apex.parallel.DistributedDataParallel"]),
        ("NPU211/torchs_own", []),
        ("NPU212/without_bias_correction", ["apex.optimizers.FusedAdam"]),
        ("NPU212/arguments_unpacked", ["apex.optimizers.FusedAdam"]),
        ("NPU212/lamb", ["apex.optimizers.FusedLAMB"]),
        ("NPU212/each_use", [f"apex.optimizers.{one}" for one in ("FusedAdam", "FusedLAMB", "FusedLAMB", "FusedAdam")]),
        ("NPU211/not_averaged", ["apex.parallel.DistributedDataParallel"] * 2),
        ("NPU211/own_wrapper", []),
        ("NPU213/own_layer", []),
        ("NPU212/own_class_of_that_name", []),
        ("NPU213/with_a_fallback", []),
        ("NPU213/derived", ["apex.normalization.FusedLayerNorm"]),
        ("NPU213/comment_in_the_import", ["apex.normalization.FusedLayerNorm"]),
        ("NPU214/parts_of_apex", ["amp_C", "apex.multi_tensor_apply"]),
        ("NPU214/own_module_below", []),
        ("NPU214/only_where_it_is_there", []),
        ("NPU215/passed_on", ["apex.optimizers.FusedAdam"]),
        ("NPU215/is_it_there", []),
        ("NPU215/used", []),
    ],
)
def test_what_is_left_is_named(name: str, subjects: list[str]) -> None:
    code, _, _ = name.partition("/")
    text = (CASES / f"{name}.in.py").read_text("utf-8")
    found = [item for item in findings(text) if item.code.startswith("NPU21")]
    assert [item.subject for item in found] == subjects
    assert all(item.safety is Safety.MANUAL and item.advice for item in found)
    assert all(item.code == code for item in found) or name == "NPU215/passed_on"


def test_levels_are_explained() -> None:
    text = (CASES / "NPU210/level_two.in.py").read_text("utf-8")
    first = next(item for item in findings(text) if item.code == "NPU210")
    assert "float32 copies" in first.message
    assert "GradScaler" in first.advice


def test_rms_norm_needs_torch_2_4() -> None:
    text = "import torch\nfrom apex.normalization import FusedRMSNorm\nx = FusedRMSNorm(4)\n"
    assert output(text, unsafe=True, release="2.3.1.post6") == text
    assert "RMSNorm(4, eps=1e-5)" in output(text, unsafe=True, release="2.4.0.post4")


def test_apex_itself_is_left(tmp_path: Path) -> None:
    (tmp_path / "apex").mkdir()
    (tmp_path / "apex/__init__.py").write_text("import amp_C\n")
    text = "from apex.optimizers import FusedAdam\nFusedAdam([])\n"
    found = findings(text, root=tmp_path, name="train.py")
    assert [item.code for item in found if item.code.startswith("NPU21")] == []


@pytest.mark.parametrize(
    "line",
    [
        "model, opt = amp.initialize(model, optimizer, opt_level='O1')",
        "model, optimizer = amp.initialize(model, optimizer, opt_level=level)",
        "model, optimizer = amp.initialize(model, optimizer, opt_level='O1', loss_scale=128.0)",
        "model, optimizer = amp.initialize(model, optimizer, **options)",
        "if level: model, optimizer = amp.initialize(model, optimizer, opt_level='O1')",
        "model, optimizer = amp.initialize(model, optimizer, opt_level='O1'); amp.register_half_function(a, 'b')",
    ],
)
def test_mixed_precision_that_is_not_plain_is_left(line: str) -> None:
    text = (CASES / "NPU210/step_elsewhere.in.py").read_text("utf-8")
    plain = text.replace(
        "        if (number + 1) % every == 0:\n            optimizer.step()", "        optimizer.step()"
    )
    assert output(plain, unsafe=True) != plain
    old = 'model, optimizer = amp.initialize(model, optimizer, opt_level="O1")'
    changed = plain.replace(old, line)
    assert changed != plain
    assert output(changed, unsafe=True) == changed


def test_every_use_is_told_with_what_it_becomes() -> None:
    text = (CASES / "NPU212/each_use.in.py").read_text("utf-8")
    told = [(item.start.line, item.advice) for item in findings(text) if item.code == "NPU212"]
    assert [line for line, _ in told] == [3, 3, 8, 9]
    assert ["torch.optim.AdamW" in advice for _, advice in told] == [True, False, False, True]
    assert ["NpuFusedLamb" in advice for _, advice in told] == [False, True, True, False]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("from apex.normalization import FusedLayerNorm\nnorm = FusedLayerNorm(8)\n", False),
        ("import torch\nimport apex\nnorm = apex.normalization.FusedLayerNorm(8)\n", False),
        ("from apex import amp\n", False),
        ("import torch\nimport apex\nnorm = apex.normalization.FusedRMSNorm(8)\n", True),
        ("from apex.parallel import DistributedDataParallel as DDP\nmodel = DDP(net)\n", True),
        ("from apex.optimizers import FusedLAMB\nFusedLAMB([])\n", True),
        ("from apex import amp\nprint(amp.state_dict())\n", True),
        ("from apex import amp\n__all__ = ['amp']\n", True),
        ("from apex.fp16_utils import *\n", True),
        ("from apex import amp\nprint([amp for amp in range(3)])\n", True),
    ],
)  # fmt: skip
def test_the_package_is_told_where_safe_edits_leave_some_of_it(text: str, blocks: bool) -> None:
    assert ("NPU620" in {item.code for item in findings(text)}) is blocks
    assert ("apex" in output(text)) is blocks


@pytest.mark.parametrize(
    ("others", "codes"),
    [
        ({"apex/setup.py": ""}, {"NPU212", "NPU620"}),
        ({"apex/apex/__init__.py": "", "apex/setup.py": ""}, {"NPU212", "NPU620"}),
        ({"apex/__init__.py": ""}, set()),
        ({"apex.py": ""}, set()),
        ({"apex/optimizers.py": ""}, set()),
    ],
)  # fmt: skip
def test_a_folder_called_apex_hides_it_only_where_python_finds_it(
    tmp_path: Path, others: dict[str, str], codes: set[str]
) -> None:
    for name, content in others.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    text = "from apex.optimizers import FusedLAMB\nFusedLAMB([])\n"
    (tmp_path / "train.py").write_text(text)
    found = {item.code for item in findings(text, root=tmp_path, name="train.py")}
    assert found & {"NPU212", "NPU620"} == codes
