"""Edited Triton kernels compute what they did, in Triton's own interpreter on the CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npuify.knowledge.third_party.kernels import libdevice_functions

from ...harness import findings, output

HEAD = """
import json, sys
import torch
import triton
import triton.language as tl
"""
DOT = """

@triton.jit
def kernel(a, b, c, size: tl.constexpr):
    at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at){given}))


torch.manual_seed(0)
a, b, c = torch.randn(16, 16), torch.randn(16, 16), torch.empty(16, 16)
kernel[(1,)](a, b, c, 16)
print(json.dumps([c.tolist(), (a @ b).tolist()]))
"""


def _run(text: str, folder: Path) -> list[list[list[float]]]:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs triton, to interpret kernels")
    (folder / "program.py").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: list[list[list[float]]] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("given", [", allow_tf32=True", ', input_precision="tf32"', ', input_precision="tf32x3"'])
def test_products(given: str, tmp_path: Path) -> None:
    before = HEAD + DOT.format(given=given)
    after = output(before, unsafe=True)
    assert after != before
    made, wanted = _run(after, tmp_path)
    assert _run(before, tmp_path)[0] == made
    for got, row in zip(made, wanted, strict=True):
        assert got == pytest.approx(row, abs=1e-4)


FUNCTIONS = sorted((name, to) for name, to in libdevice_functions().items() if to)
PLAIN = {
    "exp": "x.exp()", "exp2": "x.exp2()", "log": "x.log()", "log2": "x.log2()", "cos": "x.cos()", "sin": "x.sin()",
    "sqrt": "x.sqrt()", "sqrt_rn": "x.sqrt()", "rsqrt": "x.rsqrt()", "div_rn": "x / x", "erf": "x.erf()",
    "floor": "x.floor()", "ceil": "x.ceil()", "fma": "x * x + x",
}  # fmt: skip
"""What PyTorch computes for each, with the same number for every argument."""


def _program(name: str, to: str) -> str:
    arguments = ", ".join(["value"] * {"fma": 3, "div_rn": 2}.get(to, 1))
    return f"""{HEAD}from triton.language.extra.cuda import libdevice


@triton.jit
def kernel(x, y, size: tl.constexpr):
    at = tl.arange(0, size)
    value = tl.load(x + at)
    tl.store(y + at, libdevice.{name}({arguments}))


x, y = torch.linspace(0.1, 7.3, 32), torch.empty(32)
kernel[(1,)](x, y, 32)
print(json.dumps([[y.tolist()], [({PLAIN[to]}).tolist()]]))
"""


def test_functions_of_the_language(tmp_path: Path) -> None:
    for name, to in FUNCTIONS:
        after = output(_program(name, to))
        assert f"tl.math.{to}(" in after
        assert "libdevice" not in after
        made, wanted = _run(after, tmp_path)
        assert made[0] == pytest.approx(wanted[0], rel=1e-5), name


def test_in_the_portable_style_kernels_stay_and_an_npu_binds_their_names(tmp_path: Path) -> None:
    after = output(_program("rsqrt", "rsqrt"), style="portable")
    ours, theirs = "from triton.language import math as libdevice", "from triton.language.extra.cuda import libdevice"
    assert f'if compute_device.type == "npu":\n    {ours}\nelse:\n    {theirs}\n' in after
    assert "libdevice.rsqrt(" in after
    assert output(after, style="portable") == after
    (tmp_path / "compute_device.py").write_text('type = "npu"\n', "utf-8")
    made, wanted = _run(after, tmp_path)
    assert made[0] == pytest.approx(wanted[0], rel=1e-5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("libdevice.rsqrt", "libdevice.fast_expf"),
        ("cuda import libdevice", "cuda.libdevice import rsqrt"),
        ("libdevice.rsqrt(value)", "libdevice.tanh(libdevice.rsqrt(value))"),
    ],
)
def test_what_no_import_binds_is_left_in_the_portable_style(old: str, new: str) -> None:
    text = _program("rsqrt", "rsqrt").replace(old, new)
    if "import rsqrt" in new:
        text = text.replace("libdevice.rsqrt(", "rsqrt(")
    (found,) = [one for one in findings(text, style="portable") if one.code == "NPU645"]
    assert not found.edits and "CUDA keeps its device library" in found.message


def test_what_stays_with_a_library() -> None:
    program = _program("exp", "exp").replace("libdevice.exp(", "libdevice.{}(")
    held = output(program.replace("{}", "tanh"), unsafe=True)
    assert "from triton.language.extra.cann import libdevice" in held
    assert "libdevice.tanh(" in held
    assert output(program.replace("{}", "tanh")) == program.replace("{}", "tanh")
    found = [one for one in findings(program.replace("{}", "ffs")) if one.code == "NPU645"]
    assert [one.edits for one in found] == [()]
    assert "lacks ffs" in found[0].message


def test_the_library_that_is_imported_by_its_whole_name() -> None:
    kernel = "\n\n@triton.jit\ndef kernel(x, y, size: tl.constexpr):\n    at = tl.arange(0, size)\n"
    text = f"import triton\nimport triton.language as tl\n{{}}\n{kernel}    tl.store(y + at, {{}}(tl.load(x + at)))\n"
    named = "triton.language.extra.cuda.libdevice"
    before = text.format(f"import {named} as device", "device.rsqrt")
    assert "tl.math.rsqrt(tl.load(x + at))" in output(before) and named not in output(before)
    held = text.format(f"import {named} as device", "device.tanh")
    assert "from triton.language.extra.cann import libdevice as device" in output(held, unsafe=True)
    whole = text.format(f"import {named}", f"{named}.rsqrt")
    assert [one.severity.value for one in findings(whole) if one.code == "NPU645"] == ["error", "error"]
    assert "triton.language.math.rsqrt(tl.load(x + at))" in output(whole)


LAUNCH = """

@triton.jit
def kernel(x, y, size: tl.constexpr):
    at = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(y + at, tl.load(x + at) * 2)


x, y = torch.linspace(0.1, 7.3, 32), torch.empty(32)
kernel[(2,)](x, y, size=16{given})
print(json.dumps([[y.tolist()], [(x * 2).tolist()]]))
"""


@pytest.mark.parametrize("given", [", maxnreg=64", ", num_warps=4, maxnreg=64", ", kpack=2, waves_per_eu=1"])
def test_launches_without_what_only_tunes(given: str, tmp_path: Path) -> None:
    before = HEAD + LAUNCH.format(given=given)
    after = output(before)
    assert after == HEAD + LAUNCH.format(given=", num_warps=4" if "num_warps" in given else "")
    made, wanted = _run(after, tmp_path)
    assert made == wanted


@pytest.mark.parametrize("style", ["portable", "auto"])
def test_what_tunes_for_cuda_stays_in_the_other_styles(style: str) -> None:
    before = HEAD + LAUNCH.format(given=", maxnreg=64")
    assert "maxnreg=64" in output(before, style=style)
    assert [one.subject for one in findings(before, style=style) if one.code == "NPU646"] == ["maxnreg"]


def test_options_that_triton_ascend_knows_are_not_told() -> None:
    known = ", num_warps=4, num_stages=2, num_ctas=1, debug=False, enable_fp_fusion=True, multibuffer=True"
    assert not [one for one in findings(HEAD + LAUNCH.format(given=known)) if one.code == "NPU646"]
