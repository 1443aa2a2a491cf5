"""From CUDA names to NPU names."""

from __future__ import annotations

import pytest

from npuify.knowledge import Counterpart, load
from npuify.knowledge.release.versions import shipped_tables


def _of(name: str, release: str = "2.14.0") -> Counterpart:
    found = load(release).counterpart(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("cuda", "npu", "path"),
    [
        ("torch.cuda", "torch.npu", "torch_npu.npu"),
        ("torch.cuda.synchronize", "torch.npu.synchronize", "torch_npu.npu.synchronize"),
        ("torch.cuda.amp", "torch.npu.amp", "torch_npu.npu.amp"),
        ("torch.cuda.amp.autocast_mode.autocast", "torch.npu.amp.autocast_mode.autocast", None),
        ("torch.cuda.Event.elapsed_time", "torch.npu.Event.elapsed_time", ""),
        ("torch.cuda.Stream.cuda_stream", "torch.npu.Stream.npu_stream", ""),
        ("torch.cuda.CUDAGraph", "torch.npu.NPUGraph", "torch_npu.npu.NPUGraph"),
        ("torch.cuda.graphs.CUDAGraph", "torch.npu.NPUGraph", "torch_npu.npu.NPUGraph"),
        ("torch.cuda.CUDAGraph.replay", "torch.npu.NPUGraph.replay", ""),
        ("torch.cuda.memory.mem_get_info", "torch.npu.mem_get_info", None),
        ("torch.cuda.nvtx", "torch.npu.mstx", "torch_npu.npu.mstx"),
        ("torch.cuda.nvtx.range_push", "torch.npu.mstx.range_push", ""),
        ("torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError", ""),
        ("torch.Tensor.is_cuda", "torch.Tensor.is_npu", ""),
        ("torch.amp.autocast", "torch.amp.autocast", "torch.amp.autocast"),
        ("torch._C._cuda_getCurrentRawStream", "torch_npu._C._npu_getCurrentRawStream", None),
    ],
)
def test_counterpart(cuda: str, npu: str, path: str | None) -> None:
    """``path``: the import path; empty: there is none, because it is no name of a module; None: the usual one."""
    found = _of(cuda)
    assert found.npu == npu
    if path is None:
        path = npu.replace("torch.npu", "torch_npu.npu")
    assert found.npu_import == (path or None)


@pytest.mark.parametrize("name", ["torch.cuda.nccl.all_reduce", "torch.cuda.comm.gather", "torch.cuda.gds.GdsFile"])
def test_what_lies_in_a_missing_module_is_missing_with_its_advice(name: str) -> None:
    found = _of(name)
    assert found.npu is None
    assert found.status == "missing"
    assert found.meaning is not None


def test_nothing_is_invented_by_replacing_text() -> None:
    found = _of("torch.cuda.temperature")
    assert found.npu is None
    assert load("2.14.0").counterpart("torch.cuda.no_such_name") is None


@pytest.mark.parametrize("release", shipped_tables())
def test_every_counterpart_exists(release: str) -> None:
    table = load(release)
    for module, names in table.content.cuda.items():
        for name in names:
            found = table.counterpart(f"{module}.{name}")
            assert found is not None
            if found.npu is None:
                assert found.status == "missing"
                assert found.npu_import is None
            elif found.npu.startswith(("torch.npu", "torch_npu")):
                assert table.has(found.npu) or table.importable(found.npu), found
            if found.npu_import is not None and found.npu_import.startswith("torch_npu"):
                assert table.importable(found.npu_import), found
                assert not found.npu_import.startswith("torch.npu")


def test_missing_renamed_and_moved_parameters() -> None:
    assert _of("torch.cuda.Event").missing_parameters == ("external",)
    name = _of("torch.cuda.get_device_name")
    assert name.missing_parameters == ()
    assert name.renamed_parameters == (("device", "device_name"),)
    assert _of("torch.cuda.amp.GradScaler").moved_parameters == ("enabled",)
    assert _of("torch.cuda.synchronize").status == "same"


def test_a_row_holds_only_where_its_release_has_the_name() -> None:
    old = _of("torch.cuda.nvtx.range_push", "2.8.0.post5")
    assert old.npu is None
    assert old.meaning is not None
    assert "range_start" in old.meaning.advice
    oldest = _of("torch.cuda.nvtx.range_push", "2.2.0.post2")
    assert oldest.meaning is not None
    assert "marks only" in oldest.message
    assert _of("torch.cuda.OutOfMemoryError", "2.6.0.post5").npu == "torch.cuda.OutOfMemoryError"
    assert _of("torch.cuda.OutOfMemoryError", "2.7.1.post11").npu == "torch.OutOfMemoryError"


def test_device_properties_differ_between_releases() -> None:
    attribute = "torch._C._CudaDeviceProperties.major"
    assert _of(attribute).npu == "torch_npu._C._NPUDeviceProperties.major"
    assert _of(attribute, "2.5.1.post1").npu is None
    assert "None" in _of("torch.cuda.get_device_properties").message
    assert "AttributeError" in _of("torch.cuda.get_device_properties", "2.5.1.post1").message


def test_backend_switches_are_explained() -> None:
    for name in ("benchmark", "deterministic", "enabled", "allow_tf32", "flags"):
        found = _of(f"torch.backends.cudnn.{name}")
        assert found.meaning is not None
        assert found.meaning.effect == "no-effect"
    assert _of("torch.backends.cuda.matmul.allow_tf32").npu == "torch.npu.matmul.allow_hf32"
