"""What is said of operators, and how a trace is written."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from npuify.knowledge import load
from npuify.model import NpuifyError
from npuify.trace.launch import judged, unlaunched
from npuify.trace.render import render
from npuify.trace.result import Support, TraceResult
from npuify.trace.summary import counts, fails, operators
from npuify.trace.verdict import documented_types, judge

RELEASE = "2.13.0"

CASES = [
    ("aten::add", "Tensor", ["float32"], False, Support.KERNEL),
    ("aten::add_", "Tensor", ["float32"], False, Support.KERNEL),
    ("aten::mm", "", ["bfloat16"], False, Support.KERNEL),
    ("aten::convolution_backward", "", ["float16"], True, Support.KERNEL),
    ("aten::linalg_eig", "", ["float32"], False, Support.FALLBACK),
    ("aten::lgamma", "", ["float32"], False, Support.FALLBACK),
    ("aten::zeros_like", "", ["float32"], True, Support.COMPOSITE),
    ("aten::mm", "", ["float64"], False, Support.TYPE),
    ("aten::mul", "Tensor", ["complex64"], False, Support.KERNEL),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", "", ["float32"], False, Support.KERNEL),
    ("npu::npu_rms_norm", "", ["float16"], False, Support.KERNEL),
    ("npu::npu_no_such_operator", "", ["float16"], False, Support.UNSUPPORTED),
    ("torchvision::nms", "", ["float32"], False, Support.FALLBACK),
]


@pytest.mark.parametrize(("name", "overload", "types", "composite", "wanted"), CASES, ids=lambda value: str(value))
def test_support(name: str, overload: str, types: list[str], composite: bool, wanted: Support) -> None:
    verdict = judge(load(RELEASE), name, overload, types, composite)
    assert verdict.support is wanted
    assert (verdict.message == "") == (wanted is Support.KERNEL and "for_cpu" not in name)
    assert verdict.source or name.startswith("torchvision")


def test_an_operator_that_an_old_release_lacks_is_not_supported() -> None:
    assert "npu_cross_entropy_loss" in load(RELEASE).custom_operators
    assert "npu_cross_entropy_loss" not in load("2.2.0.post2").custom_operators
    assert judge(load("2.2.0.post2"), "npu::npu_cross_entropy_loss", "", [], False).support is Support.UNSUPPORTED


def test_documented_types_are_types() -> None:
    known = documented_types()
    assert len(known) > 200
    for types, api in known.values():
        assert types and api.startswith("torch.")
        assert types <= {
            "bfloat16", "float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64", "complex128",
        }  # fmt: skip


def row(name: str, overload: str = "", device: str = "npu", kind: str = "float32", **other: Any) -> dict[str, Any]:
    return {
        "name": name,
        "overload": overload,
        "inputs": [[kind, [2, 3]], ["more", [4]]],
        "outputs": [[kind, [2, 3]]],
        "device": device,
        "phase": "forward",
        "file": "/nowhere/train.py",
        "line": 7,
        "count": 3,
        "bytes": 24,
        "composite": False,
        **other,
    }


def result(*rows: dict[str, Any], **other: Any) -> TraceResult:
    seen = {
        "torch": "2.13.0",
        "steps": 1,
        "stopped": True,
        "seconds": 1.25,
        "import_seconds": 2.0,
        "peak_memory": 3 << 20,
        "notes": ["a note"],
        "error": None,
        "operators": list(rows),
        "reads": [
            {
                "what": "a number",
                "file": "",
                "line": 3,
                "computed": False,
                "reason": "it is too dear",
                "value": "1.0",
                "count": 1,
            }
        ],
        **other,
    }
    return judged("train.py", RELEASE, seen)


def test_operators_of_the_host_are_counted_and_not_listed() -> None:
    both = result(row("aten::add", "Tensor"), row("aten::lgamma", device="cpu"))
    assert both.device == "npu" and both.host_calls == 3
    assert [call.name for call in both.calls] == ["aten::add.Tensor"]
    alone = result(row("aten::lgamma", device="cpu"))
    assert alone.device == "cpu" and alone.calls[0].support is Support.FALLBACK
    assert "names no NPU" in render(alone, "text")


def test_what_fails() -> None:
    good, host, absent = row("aten::add", "Tensor"), row("aten::lgamma"), row("npu::npu_none")
    odd = row("aten::mm", kind="float64")
    assert not fails(result(good, host, absent), "")
    assert fails(result(good, host), "fallback") and not fails(result(good, host), "unsupported")
    assert fails(result(good, absent), "unsupported") and fails(result(good, absent), "fallback")
    assert fails(result(odd), "unsupported")
    assert not fails(result(good), "fallback")


def test_text_puts_the_worst_first_and_says_what_it_does_not_show() -> None:
    text = render(result(row("aten::add", "Tensor"), row("aten::lgamma"), row("npu::npu_none")), "text")
    assert text.index("npu::npu_none") < text.index("aten::lgamma") < text.index("aten::add.Tensor")
    assert "/nowhere/train.py:7 (forward) float32[2, 3], 4 more" in text
    assert "nothing ran on an NPU" in text and "a note" in text
    assert "assumed 1.0, since it is too dear" in text


def test_json_holds_everything() -> None:
    trace = result(row("aten::add", "Tensor"), row("aten::lgamma"))
    document = json.loads(render(trace, "json"))
    assert document["version"] == 1 and document["summary"]["fallback"] == 3
    assert document["calls"][1]["support"] == "fallback"
    assert msgspec.convert({key: document[key] for key in TraceResult.__struct_fields__}, TraceResult) == trace


def test_rows_with_the_same_operator_are_one() -> None:
    trace = result(row("aten::add", "Tensor"), row("aten::add", "Tensor", line=8, count=2))
    (only,) = operators(trace)
    assert (only.times, only.places, len(only.calls)) == (5, 2, 2)
    assert counts(trace)[Support.KERNEL] == 5


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\"\u202e'"


def test_the_page_opens_offline_and_shows_hostile_names_as_text() -> None:
    trace = result(
        row(f"other::{HOSTILE}", HOSTILE, file=f"/{HOSTILE}.py", phase=HOSTILE),
        notes=[HOSTILE],
        error={"kind": HOSTILE, "message": HOSTILE, "file": HOSTILE, "line": 1},
    )
    page = render(msgspec.structs.replace(trace, script=HOSTILE), "html")
    parser = Texts()
    parser.feed(page)
    assert "script" not in parser.tags and "img" not in parser.tags
    assert parser.text.count("alert(1)") >= 5
    assert "\u202e" not in page
    assert not re.search(r"https?://", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--nproc_per_node", "4", "train.py", "--lr", "1"], ("train.py", ["--lr", "1"], False, 4)),
        (["--standalone", "--nnodes=2", "--nproc-per-node=8", "-m", "pkg.train"], ("pkg.train", [], True, 16)),
        (["--nproc_per_node=gpu", "train.py"], ("train.py", [], False, 8)),
        (["train.py"], ("train.py", [], False, 1)),
    ],
    ids=str,
)
def test_the_program_of_torchrun(arguments: list[str], wanted: tuple[Any, ...]) -> None:
    assert unlaunched(arguments) == wanted


def test_torchrun_without_a_program_is_an_error() -> None:
    with pytest.raises(NpuifyError, match="names no program"):
        unlaunched(["--nproc_per_node", "2"])
