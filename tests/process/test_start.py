"""How commands start a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npuify.model import NpuifyError
from npuify.process.command import command
from npuify.process.environment import HOME, SHIM, let_begin, spare_amx


@pytest.mark.parametrize(
    ("flags", "set_already", "expected"),
    [
        ("fpu avx512f avx512_bf16 amx_bf16 amx_tile", "", "AVX512_CORE"),
        ("fpu avx512f amx_bf16", "AVX2", "AVX2"),
        ("fpu avx512f avx512_bf16", "", ""),
    ],
)
def test_instructions_that_virtual_machines_refuse_are_not_used(
    tmp_path: Path, flags: str, set_already: str, expected: str
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")
    environ = {"ONEDNN_MAX_CPU_ISA": set_already} if set_already else {}
    spare_amx(environ, tmp_path / "cpuinfo")
    spare_amx(environ, tmp_path / "missing")
    assert environ.get("ONEDNN_MAX_CPU_ISA", "") == expected


def test_commands(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    assert command([str(script), "--a"], "py") == ["py", str(script), "--a"]
    assert command(["pkg.mod", "x"], "py", module=True) == ["py", "-m", "pkg.mod", "x"]
    assert command(["torchrun", "--nproc_per_node=2", "t.py"], "py")[:3] == ["py", "-m", "torch.distributed.run"]
    assert command(["python", "-c", "1"], "py") == ["py", "-c", "1"]
    assert command(["-", "x"], "py") == ["py", "-", "x"], "the program comes from the standard input"
    for wrong in ([], ["missing.py"], ["no-such-command-anywhere"]):
        with pytest.raises(NpuifyError):
            command(wrong, "py")
    with pytest.raises(NpuifyError, match="npuify simulate has no option --bogus"):
        command(["--bogus", str(script)], "py")


def test_nothing_of_the_shim_shadows_torch_npu() -> None:
    assert not list(SHIM.glob("torch_npu*")), "the folder on the path holds sitecustomize only"


def test_commands_within_each_other_share_one_folder_on_the_path() -> None:
    environ = {"PYTHONPATH": "/mine"}
    let_begin(environ, "NPUIFY_SIMULATE")
    let_begin(environ, "NPUIFY_CAPTURE")
    assert environ["PYTHONPATH"].split(":") == [str(SHIM), "/mine"]
    assert environ["NPUIFY_SIMULATE_HOME"] == environ["NPUIFY_CAPTURE_HOME"]


@pytest.mark.parametrize("init", [None, "raise SystemExit('another npuify')\n"])
def test_another_npuify_on_the_programs_path_does_not_stand_before_the_one_that_asked(
    tmp_path: Path, init: str | None
) -> None:
    other = tmp_path / "npuify" / "examples"
    other.mkdir(parents=True)
    if init is not None:
        (tmp_path / "npuify" / "__init__.py").write_text(init)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "NPUIFY_SIMULATE": "1"}
    let_begin(environ, "NPUIFY_SIMULATE")
    program = "import npuify.simulator.finder as found; print(found.__file__)"
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert Path(done.stdout.strip()) == HOME / "npuify" / "simulator" / "finder.py", done.stderr
