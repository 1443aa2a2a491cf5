"""Dumps in the layout that msprobe 26.2 writes: folders, names, parents, statistics, and values as .npy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from npuify.model import NpuifyError
from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.sources.capture import read

if TYPE_CHECKING:
    from pathlib import Path

np = pytest.importorskip("numpy")


class Dump:
    """Writes one step of one process."""

    def __init__(self, folder: Path, process: str = "rank0") -> None:
        self.folder = folder / "step0" / process
        (self.folder / "dump_tensor_data").mkdir(parents=True)
        self.data: dict[str, Any] = {}
        self.parents: dict[str, str | None] = {}

    def tensor(self, name: str, values: Any, *, keep: bool) -> dict[str, Any]:
        told = {
            "type": "torch.Tensor",
            "dtype": f"torch.{values.dtype}",
            "shape": list(values.shape),
            "Max": float(values.max()),
            "Min": float(values.min()),
            "Mean": float(values.mean()),
            "Norm": float(np.linalg.norm(values)),
            "requires_grad": True,
        }
        if keep:
            np.save(self.folder / "dump_tensor_data" / f"{name}.npy", values)
            told["data_name"] = f"{name}.npy"
        return told

    def forward(self, name: str, given: Any, result: Any, *, parent: str | None = None, keep: bool = True) -> None:
        self.data[name] = {
            "input_args": [self.tensor(f"{name}.input.0", given, keep=keep)],
            "input_kwargs": {},
            "output": [self.tensor(f"{name}.output.0", result, keep=keep)],
        }
        self.parents[name] = parent

    def write(self) -> None:
        head = {"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": "dump_tensor_data"}
        (self.folder / "dump.json").write_text(json.dumps({**head, "data": self.data}))
        (self.folder / "construct.json").write_text(json.dumps(self.parents))


def model(folder: Path, *, factor: float = 2.0, keep: bool = True, process: str = "rank0") -> Path:
    """Two layers, the second of which multiplies by ``factor``."""
    dump = Dump(folder, process)
    x = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
    first, second = x + 1, (x + 1) * np.float32(factor)
    dump.forward("Module.layers.0.fc.Linear.forward.0", x, first, parent="Module.layers.0.Part.forward.0", keep=keep)
    dump.forward("Module.layers.0.Part.forward.0", x, first, keep=keep)
    dump.forward("Module.layers.1.Part.forward.0", first, second, keep=keep)
    dump.forward("Module.head.Linear.forward.0", second, second * 3, keep=keep)
    dump.write()
    return folder


@pytest.mark.parametrize("keep", [True, False], ids=["tensor", "statistics"])
def test_the_module_that_differs_is_named(tmp_path: Path, keep: bool) -> None:
    a = model(tmp_path / "a", keep=keep)
    assert compare(a, model(tmp_path / "same", keep=keep)).agrees
    result = compare(a, model(tmp_path / "b", factor=2.5, keep=keep))
    assert result.first is not None
    assert (result.first.kind, result.first.name) == ("forward", "Model.layers.1")
    assert [one.name for one in result.differences if one.severity == "error"] == ["Model.layers.1"]


def test_processes_are_named_by_rank_or_by_number(tmp_path: Path) -> None:
    found = read(model(tmp_path / "a", process="proc4711"))
    assert [rank.rank for rank in found.ranks] == [0]
    names = [call.name for call in sorted(found.ranks[0].calls, key=lambda call: call.start)]
    assert names == ["Model.layers.0", "Model.layers.0.fc", "Model.layers.1", "Model.head"]
    inner = next(call for call in found.ranks[0].calls if call.name.endswith("fc"))
    outer = next(call for call in found.ranks[0].calls if call.name == "Model.layers.0")
    assert inner.within == outer.start


def test_a_dump_of_operators_alone(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    for name, factor in (("a", 1.0), ("b", 3.0)):
        dump = Dump(tmp_path / name)
        dump.forward("Functional.gelu.0.forward", x, x * 2)
        dump.forward("Tensor.__mul__.0.forward", x * 2, x * np.float32(2 * factor))
        dump.write()
    result = compare(tmp_path / "a", tmp_path / "b")
    assert result.first is not None
    assert result.first.name == "Model/Tensor.__mul__.0"
    assert result.first.metrics is not None
    assert result.first.metrics.ratio == pytest.approx(3)


@pytest.mark.parametrize("text", ["", "[]", '{"data": 3}', '{"data": {"Module.a.A.forward.0": 5}}', '{"data": {}}'])
def test_what_is_no_dump_is_named(tmp_path: Path, text: str) -> None:
    a, b = model(tmp_path / "a"), model(tmp_path / "b")
    (b / "step0" / "rank0" / "dump.json").write_text(text)
    with pytest.raises(NpuifyError) as caught:
        compare(a, b)
    assert str(b) in str(caught.value)
