"""What doctor says of a machine on which a project on vLLM is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.doctor.facts import gather
from npuify.doctor.project_vllm import CHECK, judge_vllm
from npuify.report.doctor import Status

from .machines import load

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.doctor.facts import Facts


def machine(packages: dict[str, str], *, nnal: bool = True, cann: str = "8.5.0") -> Facts:
    """The A2 with these packages, this CANN, and NNAL loaded or not."""
    known = gather(load("a2").machine())
    assert known.cann.active is not None
    replace = msgspec.structs.replace
    loaded = replace(known.cann.loaded, nnal="/usr/local/Ascend/nnal/atb/latest" if nnal else "")
    the_cann = replace(known.cann, active=replace(known.cann.active, version=cann), loaded=loaded)
    return replace(known, python=replace(known.python, packages=packages), cann=the_cann)


def right_set(version: str) -> tuple[dict[str, str], str]:
    from npuify.knowledge.frameworks.vllm import choose_set

    row = choose_set(version, None).row
    packages = {"vllm": f"{version}+empty", "vllm-ascend": row.plugin, "torch": f"{row.torch}+cpu"}
    return {**packages, "torch-npu": row.torch_npu, "triton-ascend": row.triton_ascend}, row.cann


@pytest.mark.parametrize("text", ["from vllm import LLM\n", "import vllm.engine\n"])
def test_the_right_set_has_nothing_against_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(text)
    packages, cann = right_set("0.18.0")
    assert judge_vllm(machine(packages, cann=cann), tmp_path) == []


def test_what_differs_is_named_with_the_two_calls(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("vllm==0.18.0\n")
    packages, cann = right_set("0.18.0")
    (one,) = judge_vllm(machine({**packages, "torch-npu": "2.1.0"}, cann=cann), tmp_path)
    assert one.check == CHECK and one.status is Status.ERROR
    assert "torch-npu" in one.message and "2.1.0" in one.message and "triton" not in one.message
    assert one.mend is not None
    assert one.mend.commands[0] == "pip install vllm==0.18.0"
    assert one.mend.commands[1].startswith("pip install vllm-ascend==0.18.0")
    (one,) = judge_vllm(machine(packages, cann="7.0.0"), tmp_path)
    assert "CANN" in one.message and one.mend is None
    none = judge_vllm(machine({}, cann=cann), tmp_path)
    assert "vllm 0.18.0 (not installed)" in none[0].message


def test_the_pin_of_the_project_counts_before_what_is_installed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("vllm==0.11.0\n")
    packages, cann = right_set("0.18.0")
    (one,) = judge_vllm(machine(packages, cann=cann), tmp_path)
    assert "vllm 0.11.0 (0.18.0+empty)" in one.message


def test_nnal_has_to_be_there_and_loaded(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("vllm serve m\n")
    packages, cann = right_set("0.18.0")
    (one,) = judge_vllm(machine(packages, nnal=False, cann=cann), tmp_path)
    assert "NNAL" in one.message and one.status is Status.ERROR


def test_a_project_without_vllm_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch  # not from vllm\nname = 'vllm'\n")
    assert judge_vllm(machine({}, nnal=False), tmp_path) == []
