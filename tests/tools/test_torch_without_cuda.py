"""What of a wheel of torch goes into an environment without CUDA."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path

from tools.real_torch_npu.packages import Wheel
from tools.torch_without_cuda import _lay_out, _say_that_cuda_is_not_there


def test_headers_and_programs_stay_and_cuda_goes(tmp_path: Path) -> None:
    wheel = tmp_path / "torch.whl"
    kept = ["torch/__init__.py", "torch/lib/libtorch_cpu.so", "torch/include/ATen/ATen.h"]
    gone = [
        "torch/lib/libtorch_cuda.so",
        "torch/lib/libc10_cuda.so",
        "torch/lib/libnvrtc-builtins.so",
        "torch/test/a.py",
    ]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*kept, *gone]:
            archive.writestr(name, "")
        program = zipfile.ZipInfo("torch/bin/torch_shm_manager")
        program.external_attr = 0o755 << 16
        archive.writestr(program, "")
    _lay_out(Wheel(wheel, "2.6.0", "", (), True), tmp_path / "site-packages")
    there = {path.relative_to(tmp_path / "site-packages").as_posix() for path in tmp_path.rglob("site-packages/**/*")}
    files = {name for name in there if (tmp_path / "site-packages" / name).is_file()}
    assert files == {*kept, program.filename}
    assert (tmp_path / "site-packages" / program.filename).stat().st_mode & 0o111
    assert not (tmp_path / "site-packages" / kept[0]).stat().st_mode & 0o111


def test_torch_says_that_it_was_built_without_cuda(tmp_path: Path) -> None:
    """torch 2.14 asks this while it is imported, and takes kernels that are not there when it hears of CUDA."""
    asked = tmp_path / "torch" / "backends" / "cuda" / "__init__.py"
    asked.parent.mkdir(parents=True)
    asked.write_text("def is_built():\n    return True\n")
    assert runpy.run_path(str(asked))["is_built"]()
    _say_that_cuda_is_not_there(tmp_path)
    assert not runpy.run_path(str(asked))["is_built"]()
