"""Each shipped table loads, is consistent, and says what the packages say."""

from __future__ import annotations

import subprocess
import sys
import timeit

import pytest

from npuify.knowledge import load, meanings
from npuify.knowledge.release.table import RELEASES, ReleaseTable, read_release_file
from npuify.knowledge.release.versions import shipped_tables
from npuify.model import NpuifyError

MINORS = [f"2.{minor}" for minor in range(1, 15)]


@pytest.fixture(params=shipped_tables(), name="table")
def _table(request: pytest.FixtureRequest) -> ReleaseTable:
    return load(request.param)


def test_every_minor_is_shipped_once() -> None:
    assert sorted(".".join(v.split(".")[:2]) for v in shipped_tables()) == sorted(MINORS)


def test_the_file_is_what_its_name_says(table: ReleaseTable) -> None:
    content = table.content
    assert (RELEASES / f"{table.torch_npu}.json").is_file()
    assert content.torch_npu.wheel.startswith(f"torch_npu-{table.torch_npu}-")
    assert content.torch.wheel.startswith(f"torch-{table.torch}-")
    assert table.torch_npu.startswith(table.torch)
    for package in (content.torch_npu, content.torch):
        assert len(package.sha256) == 64
        assert set(package.sha256) <= set("0123456789abcdef")


def test_every_alias_leads_somewhere(table: ReleaseTable) -> None:
    for side in (table.content.cuda, table.content.npu):
        for module, names in side.items():
            for name, spec in names.items():
                if spec.startswith("="):
                    found = table._find(side, f"{module}.{name}", attributes_only=False)
                    assert found is not None, f"{module}.{name} {spec}"


def test_every_signature_can_be_read(table: ReleaseTable) -> None:
    for side in (table.content.cuda, table.content.npu):
        for module, names in side.items():
            for name, spec in names.items():
                signature = table.signature(f"{module}.{name}")
                if not spec.startswith("="):
                    assert spec[0] in "Mcfmpvtn", spec
                if signature is not None and signature.parameters is not None:
                    for parameter in signature.parameters:
                        assert parameter.name.isidentifier(), f"{module}.{name} {signature.text}"


def test_every_custom_operator_has_a_signature(table: ReleaseTable) -> None:
    for name in table.custom_operators:
        signature = table.signature(f"torch_npu.{name}")
        assert signature is not None
        assert signature.parameters is not None
        assert all(parameter.name.isidentifier() for parameter in signature.parameters), signature.text
        assert table.has(f"torch_npu.{name}")


def test_what_a_table_cannot_hold(table: ReleaseTable) -> None:
    # fuse_add_softmax_dropout stands in __all__ of contrib, which never imports it.
    for name in (
        "torch.npu.nothing",
        "torch.npu.Event.nothing",
        "torch_npu.contrib.fuse_add_softmax_dropout",
        "torch.foo",
    ):
        assert not table.has(name), name
    assert table.counterpart("torch.cuda.nothing") is None
    assert table.signature("torch.cuda.nothing") is None


def test_core_names(table: ReleaseTable) -> None:
    for name in (
        "torch.npu",
        "torch.npu.Event.elapsed_time",
        "torch_npu.npu.Event.elapsed_time",
        "torch.npu.Stream.npu_stream",
        "torch.npu.amp.autocast",
        "torch.npu.amp.GradScaler.unscale_",
        "torch.npu.memory.empty_cache",
        "torch.npu.FloatTensor",
        "torch.npu.matmul.allow_hf32",
        "torch.Tensor.npu",
        "torch.nn.Module.npu",
        "torch_npu.npu_fusion_attention",
        "torch_npu.profiler.ProfilerActivity.NPU",
        "torch_npu.optim.NpuFusedAdamW",
        "torch.version.cann",
    ):
        assert table.has(name), name


def test_transfer_patches_hold_what_they_are_known_for(table: ReleaseTable) -> None:
    assert {"torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.cuda", "torch.randn"} <= set(table.transfer_patches)


def test_operators(table: ReleaseTable) -> None:
    assert "Tensor" in table.operators["add"]
    assert "" in table.operators["_softmax"]
    assert not set(table.operators) & set(table.custom_operators)


def test_hand_written_npu_names_exist_where_the_row_holds(table: ReleaseTable) -> None:
    for rows in meanings().values():
        for row in rows:
            if row.npu and table.meaning(row.cuda) is row:
                known = table.has(row.npu) or table.importable(row.npu) or table.has_cuda(row.npu)
                assert known or row.npu in TORCH_ITSELF, f"{row.cuda} → {row.npu}"


TORCH_ITSELF = {"torch.OutOfMemoryError", "torch.version.hip", "torch.nn.DataParallel"}
"""Names of torch that no table covers; test_packages.py looks them up in the wheels."""


def test_every_hand_written_row_is_used_somewhere() -> None:
    tables = [load(version) for version in shipped_tables()]
    for rows in meanings().values():
        for row in rows:
            assert any(table.meaning(row.cuda) is row for table in tables), f"{row.cuda} {row.npu} {row.message}"


def test_hand_written_cuda_names_exist() -> None:
    tables = [load(version) for version in shipped_tables()]
    covered = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn")
    through_getattr = ("torch.backends.cuda.cufft_plan_cache.",)
    for cuda in meanings():
        if cuda.startswith(covered) and not cuda.startswith(through_getattr):
            assert any(table.has_cuda(cuda) for table in tables), cuda


def test_unknown_release() -> None:
    for version in ("9.9", "", "../2.14.0", "2.14.0.json"):
        with pytest.raises(NpuifyError) as caught:
            load(version)
        assert "2.14.0" in caught.value.advice


def test_importing_is_light() -> None:
    """The package alone loads no table, no TOML reader and no third-party module but what msgspec needs."""
    code = "import sys; there = {*sys.modules}; import npuify.knowledge; print(*{*sys.modules} - there)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "npuify.knowledge" in modules
    heavy = {"tomllib", "tomli", "packaging", "json", "zipfile", "ast", "npuify.knowledge.release.table"}
    assert not heavy & set(modules)


def test_loading_is_fast() -> None:
    """Best of several, so that a busy machine does not decide; the aim is 15 ms, and it takes about 2."""
    path = RELEASES / f"{shipped_tables()[0]}.json"
    best = min(timeit.repeat(lambda: ReleaseTable(read_release_file(path)), number=1, repeat=7))
    assert best < 0.015
