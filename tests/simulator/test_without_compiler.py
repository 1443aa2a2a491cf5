"""The device in Python alone. Two processes: one for what the device does, one for the examples."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

import torch

from npuify.simulator.settings import Settings, from_environment
from npuify.simulator.without_compiler import gaps, possible

if TYPE_CHECKING:
    from .conftest import Simulate

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulation.md"


def test_which_torch_can() -> None:
    assert not possible("2.9.1+cpu")
    assert possible("2.13.0") == hasattr(torch._C, "_acc")


def test_every_gap_is_documented() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    for name, instead in gaps.GAPS.items():
        assert f"| {name} | {instead} |" in text, name


def test_the_engine_survives_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in Settings(engine="python").environment().items():
        monkeypatch.setenv(name, value)
    assert from_environment().engine == "python"


needs_python_device = pytest.mark.skipif(
    not hasattr(torch._C, "_acc"), reason="before 2.10 PyTorch has no device in Python"
)


@needs_python_device
def test_tensors_training_and_gaps(
    start: Simulate, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty))
    monkeypatch.setenv("HOME", str(empty))  # where macOS has its caches
    said = start(
        """
        import copy, io
        import torch, torch_npu
        from torch import nn

        def refused(what, kind=RuntimeError):
            try:
                what()
            except kind as error:
                return str(error)
            raise AssertionError("was not refused")

        from npuify.simulator import state
        assert state.device.name == "python" and torch.npu.device_count() == 1
        # one memory, views, results that are asked for, growing results
        a = torch.ones(3, device="npu")
        v = a.view(3, 1).t()[0, 1:]
        v.mul_(5)
        assert a.tolist() == [1, 5, 5] and v.data_ptr() == a.data_ptr() + 4 and v.storage_offset() == 1
        out = torch.empty(0, device="npu")
        torch.add(a, 1, out=out)
        assert out.tolist() == [2, 6, 6]
        assert out.resize_(5)[:3].tolist() == [2, 6, 6] and out.resize_(2).tolist() == [2, 6]
        assert "other is on cpu, different from other tensors on npu:0" in refused(lambda: a + torch.ones(3))
        assert (a + torch.tensor(2.0)).tolist() == [3, 7, 7] and a[torch.tensor([0, 2])].tolist() == [1, 5]
        # products of half types: computed in float32 and rounded once, as an NPU does it; types are not mixed
        for half in (torch.float16, torch.bfloat16):
            left, right = torch.randn(4, 999, dtype=half), torch.randn(999, 4, dtype=half)
            exact = left.float() @ right.float()
            l, r = left.npu(), right.npu()
            assert torch.equal((l @ r).cpu(), exact.to(half)) and (l @ r).dtype == half
            out = torch.empty(0, dtype=half, device="npu")
            assert torch.mm(l, r, out=out) is out and torch.equal(out.cpu(), exact.to(half))
            total = torch.ones(4, 4, dtype=half, device="npu")
            memory = total.data_ptr()
            total.addmm_(l, r)
            added = torch.addmm(torch.ones(4, 4), left.float(), right.float())
            assert torch.equal(total.cpu(), added.to(half)) and total.data_ptr() == memory
            assert "dtype" in refused(lambda: l @ r.float())
            layer = torch.nn.Conv1d(4, 3, 3).to("npu", half)
            image = torch.randn(2, 4, 9, dtype=half, device="npu", requires_grad=True)
            layer(image).sum().backward()
            wide = copy.deepcopy(layer).cpu().float()
            assert torch.equal(layer(image).cpu(), wide(image.detach().cpu().float()).to(half))
            grads = [image.grad, *(p.grad for p in layer.parameters())]
            assert [g.dtype for g in grads] == [half] * 3 and all(g.is_npu for g in grads)
        assert "not simulated" in refused(lambda: torch.eye(2).npu().to_sparse(), NotImplementedError)
        assert "hccl" in refused(lambda: state.device.learn_twin(None), NotImplementedError)
        assert "Invalid device" in refused(lambda: torch.npu.set_device(1))
        assert "Invalid device" in refused(lambda: torch.ones(1, device="npu:1"))
        assert "Invalid device" in refused(lambda: torch.ones(1).to("npu:1"))
        # each kind of tensor that is not there says so itself, whichever way it would be made
        two = torch.tensor([[0, 1], [1, 0]])
        for make, kind in (
            (lambda: torch.sparse_coo_tensor(two, torch.ones(2), (2, 2), device="npu"), "sparse"),
            (lambda: torch.eye(2).to_sparse().npu(), "sparse"),
            (lambda: torch.eye(2).to_sparse_csr().npu() @ torch.ones(2, 1).npu(), "sparse"),
            (lambda: nn.Embedding(5, 3, sparse=True).npu()(torch.tensor([1]).npu()).sum().backward(), "sparse"),
            (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device="npu").unbind(), "nested"),
            (lambda: torch.quantize_per_tensor(a, 0.1, 0, torch.qint8), "quantized"),
            (lambda: a.untyped_storage().resize_(100), "storage.resize_"),
        ):
            said = refused(make, NotImplementedError)
            assert kind in said and "npuify" in said, said
        if hasattr(torch, "accelerator"):  # what migrated programs of the portable style call
            torch.accelerator.synchronize()
            if hasattr(torch.accelerator, "memory_allocated"):
                assert torch.accelerator.memory_allocated() == 0
        # a parameter keeps its identity; copies and files
        m = nn.Linear(2, 2); w = m.weight; m.npu()
        assert m.weight is w and w.is_npu and copy.deepcopy(m).weight.is_npu
        file = io.BytesIO(); torch.save(m.state_dict(), file)
        for where in ("cpu", "npu:0", None):
            file.seek(0)
            loaded = torch.load(file, map_location=where)["weight"]
            assert torch.equal(loaded.cpu(), w.cpu()) and loaded.is_npu == (where != "cpu")
        assert torch.rand(2, generator=torch.Generator("npu").manual_seed(1), device="npu").is_npu
        assert torch.npu.memory_allocated() == 0 and a.pin_memory() is a
        # a transformer and a CNN against the CPU
        def same(make, x, low):
            torch.manual_seed(0)
            host = make()
            npu = copy.deepcopy(host).npu()
            for model, given in ((host, x), (npu, x.npu())):
                optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
                for _ in range(2):
                    optimizer.zero_grad()
                    model(given).square().mean().backward()
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
            for p, q in zip(host.parameters(), npu.parameters()):
                torch.testing.assert_close(p.detach(), q.detach().cpu())
            with torch.autocast("npu", dtype=torch.bfloat16):
                result = npu(x.npu())
            assert result.dtype == low, result.dtype
            torch.amp.GradScaler("npu").scale(result.sum()).backward()
        same(lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), torch.randn(3, 2, 8), torch.float32)
        cnn = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2))
        same(lambda: nn.Sequential(*copy.deepcopy(cnn)), torch.randn(2, 3, 8, 8), torch.bfloat16)
        x = torch.randn(2, 8, device="npu", requires_grad=True)
        torch_npu.npu_rms_norm(x, torch.ones(8, device="npu"))[0].sum().backward()
        assert x.grad.is_npu
        torch.optim.AdamW([x]).step()
        torch.linalg.cholesky_ex(torch.eye(2).npu())
        print("all", "well")
        """
    )
    assert "all well" in said
    assert "apt-get install g++" in said, "what to install is said"
    for name in ("devices", "memory", "pinned memory", "random numbers"):
        assert said.count(gaps.GAPS[name]) == 1, name
    assert "linalg_cholesky_ex' is not currently supported on the NPU" in said


def test_the_faces_agree() -> None:
    """What the rest of the simulator may ask of one device it may ask of the other."""
    from npuify.simulator.device.engine import Native
    from npuify.simulator.without_compiler.device import PythonDevice

    def face(cls: type) -> set[str]:
        return {name for name in vars(cls) if not re.match("_", name)}

    assert face(PythonDevice) == face(Native)
    assert importlib.util.find_spec("npuify.simulator.without_compiler") is not None
