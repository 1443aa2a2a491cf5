"""The sets of versions: which one a project gets, and what becomes of its requirements."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import npuify
from npuify.engine.vllm_target import required_vllm
from npuify.knowledge.frameworks.vllm import choose_set, vllm_sets
from npuify.language import speaking
from npuify.model import NpuifyError, Safety
from npuify.options import Options
from npuify.project import find_files

from ...harness import findings, output


def test_rows_are_well_formed() -> None:
    for row in vllm_sets():
        SpecifierSet(row.python)
        for version in (*row.vllm, row.plugin, row.torch, row.torch_npu):
            Version(version)
        assert Version(row.torch_npu).release == Version(row.torch).release


CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"
ASCEND = "--extra-index-url https://mirrors.huaweicloud.com/ascend/repos/pypi"


@pytest.mark.parametrize(
    ("target", "required", "plugin", "fits"),
    [
        ("", "", "0.23.0", True),
        ("", "==0.11.0", "0.11.0", True),
        ("", ">=0.8,<0.12", "0.11.0", True),
        ("", ">=0.8", "0.23.0", True),
        ("", "==0.8.5.post1", "0.8.5rc1", True),
        ("0.18.0", "==0.11.0", "0.18.0", True),
        ("", "==0.6.3", "0.7.3", False),
        ("", "==0.33.0", "0.25.1rc1", False),
        ("", "nonsense", "0.23.0", True),
    ],
)
def test_the_set_that_fits(target: str, required: str, plugin: str, fits: bool) -> None:
    choice = choose_set(target, required)
    assert (choice.row.plugin, choice.fits) == (plugin, fits)


@pytest.mark.parametrize("target", ["0.99.1", "new"])
def test_a_target_without_a_set_is_told(target: str) -> None:
    with pytest.raises(NpuifyError):
        choose_set(target, None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm\ntqdm\n", "vllm==0.23.0\ntqdm\n"),
        ("vllm==0.11.0\ntorch==2.8.0\n", "vllm==0.11.0\ntorch==2.8.0\n"),
        ("vllm==0.11.0\ntorch==2.4.0\ntorchvision==0.19.0\n", "vllm==0.11.0\ntorch\ntorchvision\n"),
        ("vllm==0.11.0\ntorch==2.8.0+cu128\n", "vllm==0.11.0\ntorch\n"),
        ("vllm==0.11.0\ntorch-npu==2.8.0\ntriton\n", "vllm==0.11.0\n"),
        ("vllm==0.6.3\ntorch==2.4.0\n", "vllm==0.6.3\ntorch==2.4.0\n"),
        ("vllm[audio]>=0.8\n", "vllm[audio]==0.23.0\n"),
    ],
)
def test_requirements(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="requirements.txt") == after
    assert output(after, unsafe=True, name="requirements.txt") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pip install vllm==0.18.0\n", f"pip install vllm==0.18.0 && pip install vllm-ascend==0.18.0 {CPU}\n"),
        (
            'python3 -m pip install -U "vllm[audio]==0.13.0" \\\n  tqdm\n',
            f'python3 -m pip install -U "vllm[audio]==0.13.0" \\\n  tqdm && python3 -m pip install vllm-ascend==0.13.0 {CPU}\n',
        ),
        (
            "uv pip install vllm\n",
            f"uv pip install vllm==0.23.0 && uv pip install vllm-ascend==0.23.0 {CPU} {ASCEND}\n",
        ),
        ("pip install vllm==0.15.0\n", "pip install vllm==0.15.0\n"),  # its plug-in is not on the index
        ("pip install vllm==0.18.0\npip install vllm-ascend==0.18.0\n",) * 2,
        ("pip uninstall -y vllm\n",) * 2,
        ("pip install vllm==0.6.5\n",) * 2,  # no plug-in is for it
        (
            "pip install flashinfer -f https://flashinfer.ai/whl/cu124/torch2.4/\n",
            "pip install flashinfer -f https://flashinfer.ai/whl/cu124/torch2.4/\n",
        ),
    ],
)
def test_the_plugin_is_installed_after_vllm(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="install.sh") == after
    assert output(after, unsafe=True, name="install.sh") == after


def test_a_pin_of_transformers_follows_the_plugin() -> None:
    text = "vllm==0.11.0\ntransformers=={}\n"
    assert output(text.format("4.51.3"), unsafe=True, name="requirements.txt") == (
        "vllm==0.11.0\ntransformers>=4.55.2,<=4.57.1\n"
    )
    assert output(text.format("4.56.0"), unsafe=True, name="requirements.txt") == text.format("4.56.0")


def test_a_pin_without_a_set_is_told_with_the_nearest() -> None:
    (found,) = findings("vllm==0.6.3\n", name="requirements.txt")
    assert (found.code, found.safety) == ("NPU932", Safety.MANUAL)
    assert "0.7.3" in found.message


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("vllm/vllm-openai:v0.11.0", "quay.io/ascend/vllm-ascend:v0.11.0"),
        ("vllm/vllm-openai:latest", "quay.io/ascend/vllm-ascend:v0.23.0"),
        ("docker.io/vllm/vllm-openai", "vllm serve"),
        ("lmsysorg/sglang:latest", "sgl-kernel-npu"),
        ("nvcr.io/nvidia/tritonserver:24.05-py3", "MindIE"),
    ],
)
def test_an_image_that_serves_is_told_with_its_command(image: str, told: str) -> None:
    (found,) = findings(f"services:\n  llm:\n    image: {image}\n", name="compose.yaml")
    assert found.code == "NPU934"
    assert told in found.advice


def test_the_project_decides_the_release(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "requirements.txt").write_text("vllm==0.9.1\n")
    (tmp_path / "requirements.txt").write_text("tqdm\nvllm>=0.11, <0.12\n")
    files = find_files([tmp_path], kinds={"requirements"})
    assert required_vllm(files) == ">=0.11,<0.12"
    own = npuify.scan([tmp_path], Options(cache=False)).release
    assert (own.torch, own.cann) == ("2.7.1", choose_set("", "==0.11.0").row.cann)
    asked = npuify.scan([tmp_path], Options(cache=False, target_vllm="0.18.0")).release
    assert (asked.torch, asked.cann) == ("2.9.0", choose_set("0.18.0", "").row.cann)


def test_torch_is_left_to_the_plugin_in_every_file(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\ntorchvision\n")
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nsetup(extras_require={'vllm': ['vllm==0.27.1']})\n"
    )
    found = npuify.scan([tmp_path], Options(cache=False)).findings
    assert "NPU601" not in {one.code for one in found}
    assert not [one for one in found if one.edits]
    (told,) = [one for one in found if one.file == "requirements.txt"]
    assert told.code == "NPU932"


def test_a_project_in_a_folder_speaks_for_itself(tmp_path: Path) -> None:
    (tmp_path / "examples" / "serve").mkdir(parents=True)
    (tmp_path / "examples" / "serve" / "requirements.txt").write_text("vllm==0.11.0\n")
    (tmp_path / "requirements.txt").write_text("torch\n")
    assert "NPU601" in {one.code for one in npuify.scan([tmp_path], Options(cache=False)).findings}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("vllm==0.18.0", ("torch 2.9.0", "CANN 8.5.1")),
        ("--attention-backend", ("removed", "plug-in")),
        ("onnxruntime", ("cuda is cann",)),
        ("paddle", ("nccl is xccl",)),
    ],
)
def test_explain(what: str, words: tuple[str, ...]) -> None:
    text = "\n".join(npuify.explain(what).text)
    assert all(word in text for word in words)


def test_blocking_launches_are_not_handed_to_vllm_by_another_file(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("from vllm import LLM\n")
    text = 'import torch\n\nENVIRONMENT = {"env_vars": {"CUDA_LAUNCH_BLOCKING": "1"}}\n'
    (tmp_path / "train.py").write_text(text)
    assert output(text, unsafe=True, name="train.py", root=tmp_path) == text


@pytest.mark.parametrize(("asked", "nearest"), [("9.9", 0), ("0.5.0", -1)])
def test_beyond_all_sets_the_nearest_is_the_last_or_the_first(asked: str, nearest: int) -> None:
    known = sorted((Version(row.vllm[0]) for row in vllm_sets() if row.status != "branch"), reverse=True)
    with pytest.raises(NpuifyError) as error:
        choose_set(asked, "")
    assert str(known[nearest]) in error.value.advice


def test_the_reason_is_in_the_language_that_is_spoken() -> None:
    english = choose_set("", "==0.11.0").reason
    with speaking("zh"):
        chinese = choose_set("", "==0.11.0").reason
    assert english != chinese and choose_set("", "==0.11.0").reason == english
