"""What portable code resolves to: on CUDA what it resolved to before, on an NPU its counterpart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify import knowledge
from npuify.helpers import compute_device as helper
from npuify.options import Options

from ..harness import RELEASE, findings, output
from .stand_in import machine, values

if TYPE_CHECKING:
    from pathlib import Path

HELPER = helper.text().decode()
TABLE = knowledge.load(RELEASE)


def _names() -> list[str]:
    """Functions, classes and values of torch.cuda and torch.cuda.amp that have a counterpart in the release."""
    found = []
    for module in ("torch.cuda", "torch.cuda.amp"):
        for name in TABLE.content.cuda[module]:
            counterpart = TABLE.counterpart(f"{module}.{name}")
            if "." not in name and not name.startswith("_") and counterpart is not None and counterpart.npu:
                found.append(f"{module}.{name}")
    return sorted(found)


NAMES = _names()
USES = "import torch\n" + "".join(f"v{number} = {name}\n" for number, name in enumerate(NAMES))
IMPORTS = "import torch\n" + "".join(
    f"from {name.rpartition('.')[0]} import {name.rpartition('.')[2]} as v{number}\n"
    for number, name in enumerate(NAMES)
)


def test_there_are_names_to_ask_for() -> None:
    assert len(NAMES) > 80


@pytest.mark.parametrize("torch", [">=2.1", ">=2.6", ""])
@pytest.mark.parametrize("text", [USES, IMPORTS], ids=["by attribute", "imported"])
def test_on_cuda_every_name_is_what_it_was(text: str, torch: str) -> None:
    after = output(text, style="portable", torch=torch)
    assert after != text
    assert values(after, "cuda", HELPER) == values(text, "cuda")


@pytest.mark.parametrize("text", [USES, IMPORTS], ids=["by attribute", "imported"])
def test_on_an_npu_every_name_is_its_counterpart(text: str) -> None:
    got = values(output(text, style="portable"), "npu", HELPER)
    for number, name in enumerate(NAMES):
        counterpart = TABLE.counterpart(name)
        assert counterpart is not None
        same_class = not (counterpart.npu or "").startswith("torch.npu")
        wanted = {counterpart.npu, name} if same_class else {counterpart.npu}
        assert got[f"v{number}"] in wanted, name


STRINGS = """\
import os
import torch
import torch.distributed as dist
rank = 3
v1 = torch.device("cuda")
v2 = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
v3 = torch.device(f"cuda:{rank}")
v4 = torch.device("cuda:" + str(rank))
v5 = torch.device("cuda:{}".format(rank))
v6 = torch.device("cuda:%d" % rank)
v7 = dist.init_process_group(backend="nccl")
v8 = dist.init_process_group("cpu:gloo,cuda:nccl")
v9 = {"cuda": "nccl", "cpu": "gloo"}[torch.device("cuda")[1]]
v10 = torch.amp.autocast(device_type="cuda")
v11 = getattr(torch, "cuda")
v12 = dist.get_backend(device="cuda")
v13 = torch.amp.GradScaler(enabled=True)
"""


def test_strings_on_cuda_are_what_they_were() -> None:
    after = output(STRINGS, style="portable")
    before, now = values(STRINGS, "cuda"), values(after, "cuda", HELPER)
    # What was left out is now said: the default of GradScaler's device is "cuda".
    assert now.pop("v13") == ("torch.amp.GradScaler", "cuda", ("enabled", True))
    assert before.pop("v13") == ("torch.amp.GradScaler", ("enabled", True))
    assert now == before


def test_strings_on_an_npu_name_the_npu() -> None:
    assert values(output(STRINGS, style="portable"), "npu", HELPER) == {
        "v1": ("device", "npu"),
        "v2": ("device", "npu:0"),
        "v3": ("device", "npu:3"),
        "v4": ("device", "npu:3"),
        "v5": ("device", "npu:3"),
        "v6": ("device", "npu:3"),
        "v7": ("torch.distributed.init_process_group", ("backend", "hccl")),
        "v8": ("torch.distributed.init_process_group", "cpu:gloo,npu:hccl"),
        "v9": "hccl",
        "v10": ("torch.amp.autocast", ("device_type", "npu")),
        "v11": "torch.npu",
        "v12": ("torch.distributed.get_backend", ("device", "npu")),
        "v13": ("torch.amp.GradScaler", "npu", ("enabled", True)),
    }


@pytest.mark.parametrize(
    ("kind", "index", "device"),
    [
        ("cuda", None, ("device", "cuda")),
        ("cuda", 1, ("device", "cuda", 1)),
        ("npu", 0, ("device", "npu", 0)),
        ("npu", "npu:2", ("device", "npu:2")),
    ],
)
def test_the_helper_takes_numbers_devices_and_nothing(kind: str, index: object, device: object) -> None:
    code = f"import compute_device\nv = compute_device.get({index!r})\n"
    assert values(code, kind, HELPER) == {"v": device}


@pytest.mark.parametrize(("cards", "device"), [(0, "cuda"), (8, "npu")])
def test_importing_the_helper_does_not_start_the_runtime(cards: int, device: str) -> None:
    """It would read ASCEND_RT_VISIBLE_DEVICES then, and a program that sets it afterwards would get card 0."""
    with machine("npu") as modules:

        def starts() -> bool:
            raise AssertionError("the runtime is started")

        modules["torch"].npu.is_available = starts
        modules["torch"].npu.device_count = lambda: cards
        space: dict[str, object] = {}
        exec(compile(HELPER, "compute_device.py", "exec"), space)
    assert space["type"] == device


# --- torch.accelerator ------------------------------------------------------------------------------------------------

PLAIN = """\
import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, device=device)
for _ in range(torch.cuda.device_count()):
    torch.cuda.synchronize()
"""


def test_torch_accelerator_where_it_has_everything() -> None:
    assert output(PLAIN, style="portable", torch=">=2.6") == (
        PLAIN.replace('"cuda:0"', 'f"{torch.accelerator.current_accelerator().type}:0"').replace(
            "torch.cuda", "torch.accelerator"
        )
    )


@pytest.mark.parametrize("torch", [">=2.5", "==2.1.0", "~=2.4"])
def test_no_torch_accelerator_before_torch_2_6(torch: str) -> None:
    after = output(PLAIN, style="portable", torch=torch)
    assert "torch.accelerator" not in after
    assert "compute_device.api.synchronize()" in after


@pytest.mark.parametrize("torch", ["", "<3"])
def test_without_a_lower_bound_any_torch_may_be_there_on_cuda(torch: str) -> None:
    after = output(PLAIN, style="portable", torch=torch)
    assert "torch.accelerator" not in after
    assert "compute_device.api.synchronize()" in after


@pytest.mark.parametrize(
    "line",
    [
        'x = x.to("cuda")',  # a name for the device is needed where none may be there
        "x = x.cuda()",
        "torch.cuda.manual_seed(0)",
        "torch.cuda.synchronize(device=0)",  # torch.accelerator takes it by position only
        "scaler = torch.amp.GradScaler()",
    ],
)
def test_one_question_one_answer(line: str) -> None:
    """Where a helper is needed, it decides alone which device there is; torch.accelerator may know more of them."""
    after = output(PLAIN + line + "\n", style="portable", torch=">=2.6")
    assert "compute_device.api.is_available()" in after
    assert "compute_device.api.device_count()" in after
    assert "torch.accelerator.is_available" not in after


def test_what_has_no_portable_form_is_said_with_a_reason() -> None:
    text = "import torch\nx = torch.ops.load_library('a'), torch.cuda.current_stream().cuda_stream\n"
    (found,) = [item for item in findings(text, style="portable") if item.code == "NPU114"]
    assert not found.edits
    assert "the code that receives it needs a branch for each" in found.message


def test_names_of_a_torch_that_another_file_imported(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text("import torch\n")
    (tmp_path / "main.py").write_text("import compat\n\nprint(compat.torch.cuda.device_count())\n")
    npuify.migrate(tmp_path, None, Options(style="portable", jobs=1, cache=False), mode="in-place")
    assert "print(compute_device.api.device_count())" in (tmp_path / "main.py").read_text()
