"""Attention of flash_attn and xformers: what is refused, what becomes of imports, and which names are followed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from npuify import knowledge
from npuify.model import Safety, Severity

from ...harness import codes, findings, output

if TYPE_CHECKING:
    from pathlib import Path


def program(call: str) -> str:
    names = sorted(set(re.findall(r"flash_attn\w*", call)))
    imported = f"from flash_attn import {', '.join(names)}" if names else "import xformers.ops as xops"
    return (
        f"import torch\n{imported}\n\n\ndef attend(q, k, v, qkv, kv, cu_q, cu_k, causal, scale):\n    return {call}\n"
    )


REFUSED = {
    "flash_attn_func(q, k, v, softcap=30.0)": "softcap",
    "flash_attn_func(q, k, v, return_attn_probs=True)": "return_attn_probs",
    "flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, alibi_slopes=scale)": "alibi_slopes",
    "flash_attn_func(q, k, v, alibi_slopes=slopes(q))": "alibi_slopes: assign",
    "flash_attn_func(q, k.half().float() + 1, v, alibi_slopes=scale)": "assign them to a name",
    "xops.memory_efficient_attention(q, k, v, attn_bias=xops.BlockDiagonalMask.from_tensor_list(kv))": "attn_bias",
    "xops.memory_efficient_attention(q, k, v, attn_bias=xops.BlockDiagonalMask.from_seqlens(*kv))": "two lists",
    "flash_attn_func(q, k, v, window_size=(width, 0))": "window_size",
    "flash_attn_func(q, k, v, window_size=(3, 0), causal=causal)": "causal",
    "flash_attn_func(q, k, v, 0.0, None, True, (-1, -1))": "by position",
    "flash_attn_func(q, k, v, softmax_scale=f(q))": "softmax_scale",
    "flash_attn_func(*qkv)": r"by \*",
    "flash_attn_func(q, k, v, **scale)": r"by \*",
    "flash_attn_func(f(q), k, v)": "assign them to a name",
    "flash_attn_func(q.transpose(2, 3), k, v)": "assign them to a name",
    "flash_attn_func(q.to('cpu'), k, v)": "assign them to a name",
    "flash_attn_func(q, k)": "argument v",
    "flash_attn_func(q, k, v, sinks=scale)": "sinks",
    "flash_attn_func(q := k, k, v)": "name first",
    "flash_attn_func(q, k, v, causal=1)": "neither",
    "flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, block_table=kv)": "block_table",
    "xops.memory_efficient_attention(q, k, v, attn_bias=kv)": "attn_bias",
    "flash_attn_func(\n        q,  # queries\n        k, v)": "comment",
    "f'{flash_attn_func(q, k, v)}'": "f-string",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_has_no_proven_form_is_refused_with_the_reason(call: str) -> None:
    before = program(call)
    (found,) = [item for item in findings(before) if item.code in ("NPU501", "NPU502", "NPU503")]
    assert found.safety is Safety.MANUAL
    assert re.search(REFUSED[call], found.message), found.message
    assert output(before, unsafe=True) == before


SPELLINGS = [
    ("from flash_attn import flash_attn_func", "flash_attn_func"),
    ("from flash_attn import flash_attn_func as attention", "attention"),
    ("from flash_attn.flash_attn_interface import flash_attn_func", "flash_attn_func"),
    ("import flash_attn", "flash_attn.flash_attn_func"),
    ("import flash_attn as fa", "fa.flash_attn_func"),
    ("import flash_attn.flash_attn_interface as fa", "fa.flash_attn_func"),
    ("from flash_attn import flash_attn_interface", "flash_attn_interface.flash_attn_func"),
]


@pytest.mark.parametrize(("imported", "function"), SPELLINGS)
def test_spellings(imported: str, function: str) -> None:
    got = output(f"import torch\n{imported}\n\n\ndef f(q, k, v):\n    return {function}(q, k, v, softmax_scale=1.0)\n")
    assert got == (
        "import torch\nimport torch_npu\n\n\ndef f(q, k, v):\n"
        '    return torch_npu.npu_fusion_attention(q, k, v, q.shape[2], "BSND", scale=1.0)[0]\n'
    )


OTHERS = [
    "def flash_attn_func(q, k, v): ...\nflash_attn_func(q, k, v)\n",
    "from mine import flash_attn_func\nflash_attn_func(q, k, v)\n",
    "class A:\n    def flash_attn_func(self): ...\n    def g(self): return self.flash_attn_func()\n",
    "from flash_attn_like import flash_attn_func\nflash_attn_func(q, k, v)\n",
]


@pytest.mark.parametrize("text", OTHERS)
def test_own_functions_of_the_name_are_left(text: str) -> None:
    assert codes(text) == []


GUARDED = """\
import torch

try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None


def f(q, k, v):
    if flash_attn_func is None:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return flash_attn_func(q, k, v, softmax_scale=1.0)
"""


def test_guarded_import_stays() -> None:
    (found,) = [item for item in findings(GUARDED) if item.code == "NPU505"]
    assert found.severity is Severity.INFO
    got = output(GUARDED)
    assert "    from flash_attn import flash_attn_func\nexcept ImportError" in got
    assert "torch_npu.npu_fusion_attention(q" in got


def test_import_for_types_is_no_finding() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from flash_attn import flash_attn_func\n"
    assert codes(text) == []


def test_other_function_in_the_fallback_is_not_rewritten() -> None:
    text = GUARDED.replace("flash_attn_func = None", "from mine import flash_attn_func")
    assert codes(text) == ["NPU505"]


IMPORT = "import torch\nfrom flash_attn import flash_attn_func{}\n\n\ndef f(q, k, v):\n    return {}\n"
CALL = "flash_attn_func(q, k, v, softmax_scale=1.0)"


@pytest.mark.parametrize(
    "text",
    [
        IMPORT.format("", f"{CALL}, flash_attn_func"),
        IMPORT.format(", flash_attn_with_kvcache", f"{CALL}, flash_attn_with_kvcache(q, k, v)"),
        IMPORT.format("", f"{CALL}, flash_attn_func(q, k, v, softcap=2.0)"),
        IMPORT.format("", CALL) + "\n\n__all__ = ['flash_attn_func']\n",
    ],
)
def test_import_stays_while_something_needs_it_and_is_reported(text: str) -> None:
    got = output(text)
    assert "from flash_attn import" in got
    assert "torch_npu.npu_fusion_attention" in got
    assert ("NPU505", Severity.ERROR) in [(item.code, item.severity) for item in findings(text)]


def test_import_that_another_module_takes_stays(tmp_path: Path) -> None:
    (tmp_path / "attention.py").write_text(IMPORT.format("", CALL))
    assert "from flash_attn" not in output(IMPORT.format("", CALL), root=tmp_path, name="attention.py")
    (tmp_path / "model.py").write_text("from attention import flash_attn_func\n")
    assert "from flash_attn" in output(IMPORT.format("", CALL), root=tmp_path, name="attention.py")


def test_own_package_of_the_name_is_not_taken_for_the_library(tmp_path: Path) -> None:
    (tmp_path / "flash_attn").mkdir()
    (tmp_path / "flash_attn" / "__init__.py").write_text("from .triton import flash_attn_func\n")
    text = IMPORT.format("", CALL)
    (tmp_path / "model.py").write_text(text)
    assert output(text, root=tmp_path, name="model.py", unsafe=True) == text


def test_own_module_of_the_name_within_a_package_is_another(tmp_path: Path) -> None:
    text = IMPORT.format("", CALL)
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "flash_attn.py").write_text(text)
    assert "npu_fusion_attention" in output(text, root=tmp_path, name="layers/flash_attn.py")


def test_only_statement_of_a_block_becomes_pass() -> None:
    text = "import torch\n\n\ndef f():\n    import flash_attn\n"
    assert output(text) == "import torch\n\n\ndef f():\n    pass\n"


def test_torch_imported_in_a_function_only_leaves_no_unbound_name() -> None:
    text = f"from flash_attn import flash_attn_func\n\n\ndef f(q, k, v):\n    import torch\n    return {CALL}\n"
    assert output(text) == text


def test_no_import_of_torch_at_all() -> None:
    text = f"from flash_attn import flash_attn_func\n\n\ndef f(q, k, v):\n    return {CALL}\n"
    got = output(text)
    assert got.startswith("import torch_npu\n")
    assert "flash_attn_func" not in got


def test_scale_of_an_object() -> None:
    text = """\
import torch
from flash_attn import flash_attn_func


class A(torch.nn.Module):
    def __init__(self, dim, scale=None):
        self.fixed = dim**-0.5
        self.maybe = scale

    def forward(self, q, k, v):
        return flash_attn_func(q, k, v, softmax_scale=self.{})
"""
    assert "scale=self.fixed)" in output(text.format("fixed"))
    assert "scale=q.shape[-1] ** -0.5 if self.maybe is None else self.maybe" in output(text.format("maybe"))


@pytest.mark.parametrize("name", ["flash_attn_with_kvcache", "flash_attn_unpadded_func"])
def test_functions_without_a_form(name: str) -> None:
    text = f"from flash_attn.flash_attn_interface import {name}\nout = {name}(q, k, v)\n"
    assert codes(text) == ["NPU505", "NPU504"]
    assert output(text, unsafe=True) == text


def test_advice_for_other_parts() -> None:
    (found,) = findings("from flash_attn.layers.rotary import apply_rotary_emb\nx = apply_rotary_emb(x, c, s)\n")
    assert "npu_rotary_mul" in found.advice


def test_sdpa() -> None:
    head = "import torch\nimport torch.nn.functional as F\n"
    additive = 'mask = torch.zeros(2, 2).masked_fill(causal, float("-inf"))\n'
    call = "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n"
    assert codes(head + additive + call) == ["NPU507"]
    assert codes(head + "mask = torch.ones(2, 2).tril().bool()\n" + call) == []
    text = "import torch\nfrom torch.nn.attention import sdpa_kernel\nwith sdpa_kernel(1):\n    pass\n"
    assert codes(text) == ["NPU506"]


FUSED = {
    "class RMSNorm:\n    def forward(self, x): return x * torch.rsqrt(x.pow(2).mean(-1))\n": "npu_rms_norm",
    "class T5_RMS_Norm:\n    def forward(self, x): return x * x.pow(2).mean(-1).rsqrt()\n": "npu_rms_norm",
    "def rotate_half(x): return x\n": "npu_rotary_mul",
    "y = torch.nn.functional.silu(gate) * up\n": "npu_swiglu",
    "y = up * torch.nn.functional.silu(gate)\n": "npu_swiglu",
    "y = torch.rsqrt(x)\n": "",
    "y = torch.nn.functional.silu(x) + x\n": "",
    "y = silu(gate) * up\n": "",
    "z = rotate_half(x)\n": "",
}


@pytest.mark.parametrize("text", FUSED)
def test_fused_operators_are_suggested(text: str) -> None:
    found = findings(f"import torch\n{text}")
    assert [item.subject.rpartition(".")[2] for item in found] == ([FUSED[text]] if FUSED[text] else [])
    assert all(item.severity is Severity.INFO for item in found)


def test_every_release_has_the_operator_with_what_is_passed() -> None:
    text = IMPORT.format("", "flash_attn_func(q, k, v, 0.1, causal=True, window_size=(8, 0))")
    for release in knowledge.releases():
        if release.has_table:
            assert "next_tockens=0" in output(text, unsafe=True, release=release.torch_npu), release.torch_npu


@pytest.mark.parametrize(
    ("causal", "asked", "unsafe"),
    [
        ("m.causal and not m.cross", "m.causal and not m.cross", False),
        ("False if cross else True", "(False if cross else True)", False),
        ("m.is_causal()", "m.is_causal()", True),
    ],
)
def test_a_mode_for_causal_masks_comes_with_a_mask_only(causal: str, asked: str, unsafe: bool) -> None:
    text = f"from flash_attn import flash_attn_func\n\n\ndef f(q, k, v, m, cross):\n    return flash_attn_func(q, k, v, causal={causal})\n"
    got = output(text, unsafe=unsafe)
    compile(got, "f.py", "exec")
    assert f".bool() if {asked} else None," in got
    assert f"sparse_mode=3 if {asked} else 0," in got
    if unsafe:
        assert output(text) == text
