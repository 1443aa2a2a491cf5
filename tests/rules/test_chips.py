"""The kind of chip decides: what is said with ``--soc``, what without it, and that the right chip hears nothing."""

from __future__ import annotations

import pytest

from npuify import knowledge
from npuify.model import NpuifyError, Severity

from ..harness import codes, findings, output

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nx = torch.zeros(1).cuda()\n"
AUTOCAST = HEAD + "with torch.autocast('cuda', dtype=torch.bfloat16):\n    y = x\n"
CAST = HEAD + "y = x.to(torch.bfloat16)\n"
FLOAT8 = HEAD + "y = x.to(torch.float8_e4m3fn)\nz = torch.empty(2, dtype=torch.float8_e5m2)\n"
LOOP = HEAD + "for i in range(3):\n    loss = (x * i).sum()\n    loss.backward()\n    optimizer.step()\n"
ASKED = HEAD + "if torch.isnan(loss):\n    pass\n"
ATTENTION = HEAD + "y = F.scaled_dot_product_attention(x, x, x)\n"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("910A", "910"),
        ("Ascend910ProB", "910"),
        ("104", "910"),
        ("310P3", "310P"),
        ("A2", "A2"),
        ("ascend910b4-1", "A2"),
        ("223", "A2"),
        ("310b4", "310B"),
        ("910_9391", "A3"),
        ("Ascend910_9362", "A3"),
        ("910C", "A3"),
        ("950", "950"),
    ],
)
def test_chips_have_many_names(asked: str, name: str) -> None:
    assert knowledge.product(asked).name == name


@pytest.mark.parametrize("asked", ["910B", "Ascend 910b"])
def test_a_name_of_two_chips_is_refused(asked: str) -> None:
    with pytest.raises(NpuifyError, match="two chips"):
        knowledge.product(asked)


@pytest.mark.parametrize("asked", ["H100", "", "99", "910Z"])
def test_an_unknown_name_is_refused(asked: str) -> None:
    with pytest.raises(NpuifyError, match="no Ascend chip"):
        knowledge.product(asked)


def test_families_do_not_overlap() -> None:
    spans = sorted(row.soc_versions for row in knowledge.products().values())
    assert all(first[1] < second[0] for first, second in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize(
    ("code", "text", "soc"),
    [
        ("NPU216", AUTOCAST, "910"),
        ("NPU675", FLOAT8, "A2"),
        ("NPU216", CAST, "310P"),
        ("NPU216", HEAD + "args = TrainingArguments(bf16=True)\n", "910"),
        ("NPU216", HEAD + "a = Accelerator(mixed_precision='bf16')\n", "910"),
        ("NPU217", LOOP, "910"),
        ("NPU419", ASKED, "910"),
        ("NPU419", HEAD + "ok = math.isfinite(loss_value)\n", "310P"),
        ("NPU509", ATTENTION, "910"),
        ("NPU509", ATTENTION, "310P"),
    ],
)
def test_an_older_chip_is_warned_of(code: str, text: str, soc: str) -> None:
    found = [item for item in findings(text, soc=soc) if item.code == code]
    assert len(found) == 1
    assert found[0].severity is not Severity.INFO


def test_only_an_ascend_950_has_float8() -> None:
    assert "NPU675" not in codes(FLOAT8, soc="950")
    assert [one.severity for one in findings(FLOAT8) if one.code == "NPU675"] == [Severity.WARNING]


@pytest.mark.parametrize("text", [AUTOCAST, CAST, LOOP, ASKED, ATTENTION])
@pytest.mark.parametrize("soc", ["A2", "A3", "950"])
def test_a_newer_chip_hears_nothing(text: str, soc: str) -> None:
    assert {"NPU216", "NPU217", "NPU419", "NPU509"}.isdisjoint(codes(text, soc=soc))


@pytest.mark.parametrize(("code", "text"), [("NPU216", AUTOCAST), ("NPU217", LOOP), ("NPU419", ASKED)])
def test_without_a_chip_it_is_information(code: str, text: str) -> None:
    found = [item for item in findings(text) if item.code == code]
    assert [item.severity for item in found] == [Severity.INFO]
    assert code not in [item.code for item in findings(text, name="tests/test_it.py")]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("NPU675", HEAD + "t = {'fp8': torch.float8_e5m2}\nsmall = x.dtype == torch.float8_e4m3fn\n"),
        ("NPU216", CAST),
        ("NPU216", HEAD + "if x.dtype == torch.bfloat16:\n    pass\n"),
        ("NPU216", AUTOCAST.replace("torch.bfloat16", "torch.float16")),
        ("NPU216", AUTOCAST + "ok = torch.cuda.is_bf16_supported()\n"),
        ("NPU217", LOOP + "scaler = torch.cuda.amp.GradScaler()\n"),
        ("NPU217", LOOP.replace("optimizer.step()", "pass")),
        ("NPU217", HEAD + "loss.backward()\noptimizer.step()\n"),
        ("NPU419", HEAD + "if torch.isnan(mask).any():\n    pass\n"),
        ("NPU509", ATTENTION),
    ],
)
def test_silent_where_nothing_depends_on_it(code: str, text: str) -> None:
    assert code not in codes(text)


@pytest.mark.parametrize("text", [HEAD + "t = {'bf16': torch.bfloat16}\n", HEAD + "b = x.dtype is torch.bfloat16\n"])
def test_a_table_of_types_is_no_use_of_one(text: str) -> None:
    assert "NPU216" not in codes(text, soc="910")


def test_fused_attention_is_not_written_for_a_chip_without() -> None:
    text = "import torch\nfrom flash_attn import flash_attn_func\n\n\ndef f(q, k, v):\n    return flash_attn_func(q, k, v)\n"
    found = [item for item in findings(text, soc="910") if item.code == "NPU501"]
    assert found
    assert not found[0].edits
    assert "no fused attention" in found[0].message
    assert "npu_fusion_attention" in output(text)


def test_both_tables_of_chips_say_the_same_of_bfloat16() -> None:
    from npuify.knowledge.machine.drivers import chips

    families = {"Atlas A2": "A2", "Atlas A3": "A3", "Ascend 910 (first generation)": "910", "Ascend 310P": "310P"}
    there = {chip.product: chip.bf16 for chip in chips()}
    for product, name in families.items():
        assert there[product] is knowledge.products()[name].bfloat16
