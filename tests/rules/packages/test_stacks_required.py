"""Requirements of the stacks around PyTorch: the first release that knows NPUs, and what belongs together."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify.engine.scan import scan
from npuify.knowledge.frameworks.stacks import stacks
from npuify.knowledge.third_party.dependencies import dependency
from npuify.migration import migrate
from npuify.options import Options
from npuify.rules.packages.dependency_file import excludes_from

from ...harness import findings, output

OPTIONS = Options(jobs=1, cache=False)
UNSAFE = Options(jobs=1, cache=False, unsafe=True)
NATIVE = [(row, name) for name, row in stacks().items() if row.support == "native" and row.since]


@pytest.mark.parametrize(("row", "name"), NATIVE, ids=[name for _, name in NATIVE])
def test_no_release_is_kept_that_knows_no_npu(row: object, name: str) -> None:
    known = dependency(name, "2.14.0")
    if known is not None and known.action == "keep":
        assert known.minimum
        assert not excludes_from(f">={known.minimum}", known.minimum)
        assert not excludes_from(f">={row.since}", known.minimum)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ray==2.3.0\n", "ray>=2.9.0\n"),
        ("ray[default]>=2.0\n", "ray[default]>=2.0\n"),
        ("peft==0.4.0\n", "peft>=0.5.0\n"),
        ("diffusers==0.14.0\n", "diffusers>=0.27.0\n"),
        ("ultralytics==8.3.78\n", "ultralytics>=8.4.22\n"),
        ("verl==0.3.0.post1\n", "verl>=0.4.0\n"),
        ("sglang==0.5.14\n", "sglang==0.5.14\n"),
        ("openrlhf\n", "openrlhf\n"),
        ("tensorrt-llm==0.9.0\ntqdm\n", "tqdm\n"),
        ("onnxruntime==1.15.1\nonnxruntime-gpu==1.18.0\n", "onnxruntime-cann\n"),
        ("onnxruntime\n", "onnxruntime\n"),
        ("onnxruntime; sys_platform == 'darwin'\nonnxruntime-gpu; sys_platform == 'linux'\n", None),
        ("flash_attn-2.7.3+cu11torch2.2cxx11abiFALSE-cp311-cp311-linux_x86_64.whl\ntqdm\n", "tqdm\n"),
        ("./wheels/flash_attn-2.7.3-cp311-cp311-linux_x86_64.whl\ntqdm\n", "tqdm\n"),
    ],
)
def test_file(before: str, after: str | None) -> None:
    expected = before.replace("onnxruntime-gpu", "onnxruntime-cann") if after is None else after
    assert output(before, unsafe=True, name="requirements.txt") == expected


@pytest.mark.parametrize("text", ["sglang==0.5.14\n", "openrlhf\n"])
def test_what_needs_work_is_told(text: str) -> None:
    assert [one.code for one in findings(text, name="requirements.txt")] == ["NPU608"]


class TestExtrasOfPoetry:
    def test_a_package_that_is_replaced(self) -> None:
        head = '[tool.poetry.dependencies]\npython = "^3.10"\nonnxruntime = {version = "^1.23", optional = true}\n'
        extras = '[tool.poetry.extras]\ncpu = ["onnxruntime"]\ngpu = [\n    "onnxruntime-gpu",\n]\n\n[tool.x]\n'
        before = f'{head}onnxruntime-gpu = {{version = "^1.23", optional = true}}\n\n{extras}'
        after = output(before, unsafe=True, name="pyproject.toml")
        assert after == before.replace(
            'onnxruntime-gpu = {version = "^1.23"', 'onnxruntime-cann = {version = "*"'
        ).replace("onnxruntime-gpu", "onnxruntime-cann")

    def test_one_that_goes_is_left_to_a_person(self) -> None:
        text = (
            '[tool.poetry.dependencies]\nflash-attn = {version = "*", optional = true}\n\n'
            '[tool.poetry.extras]\nfast = ["flash-attn"]\n'
        )
        assert output(text, unsafe=True, name="pyproject.toml") == text
        assert [one.code for one in findings(text, name="pyproject.toml")] == ["NPU607"]


class TestVllmOfOneProject:
    def write(self, root: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def test_a_range_follows_the_version_that_another_file_installs(self, tmp_path: Path) -> None:
        self.write(
            tmp_path / "p",
            {
                "Dockerfile": "RUN pip install vllm==0.11.0\n",
                "requirements.txt": "vllm>=0.8.0\n",
                "a.py": "import vllm\n",
            },
        )
        migrate(tmp_path / "p", tmp_path / "out", UNSAFE)
        assert (tmp_path / "out" / "requirements.txt").read_text() == "vllm==0.11.0\n"

    def test_a_range_without_that_version_stays_its_own(self, tmp_path: Path) -> None:
        self.write(
            tmp_path / "p",
            {"Dockerfile": "RUN pip install vllm==0.11.0\n", "requirements.txt": "vllm>=0.18.0\n"},
        )
        migrate(tmp_path / "p", tmp_path / "out", UNSAFE)
        assert (tmp_path / "out" / "requirements.txt").read_text() == "vllm==0.23.0\n"

    def test_the_projects_own_file_for_npus_is_not_told_of(self, tmp_path: Path) -> None:
        self.write(
            tmp_path,
            {
                "requirements/vllm.txt": "vllm==0.11.0\n",
                "requirements/npu.txt": "torch==2.10.0\ntorch-npu==2.10.0.post4\n",
            },
        )
        told = scan([tmp_path], OPTIONS).findings
        assert {one.file.rpartition("/")[2] for one in told if one.code == "NPU932"} == {"vllm.txt"}

    def test_an_index_for_the_cpu_stays_where_no_torch_npu_is_written(self, tmp_path: Path) -> None:
        command = "RUN pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu\n"
        self.write(tmp_path / "p", {"requirements.txt": "vllm==0.11.0\n", "ci/Dockerfile": command})
        migrate(tmp_path / "p", tmp_path / "out", UNSAFE)
        assert (tmp_path / "out" / "ci" / "Dockerfile").read_text() == command


def test_what_belongs_to_torch_stays_where_torch_is_left_to_a_person() -> None:
    wheels = "https://wheels.example/torch-1.11.0a0+gitbc2c6ed-cp38-cp38-linux_aarch64.whl"
    text = f"RUN pip install {wheels} https://wheels.example/torchvision-0.12.0a0+9b5a3fe-cp38-cp38-linux_aarch64.whl\n"
    after = output(text, unsafe=True, name="Dockerfile")
    assert ("torchvision-0.12.0a0" in after) == ("torch-1.11.0a0" in after)


def test_torchaudio_of_a_stable_abi_stands_beside_every_later_torch() -> None:
    text = "torch==2.1.2\ntorchaudio==2.1.2\n"
    assert (
        output(text, unsafe=True, name="requirements.txt") == "torch==2.14.0\ntorch-npu==2.14.0\ntorchaudio==2.11.0\n"
    )


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ('pip install --no-cache-dir "vllm==0.11.0"', ""),
        ("pip install 'vllm==0.11.0' \"tqdm\"", ""),
        ("pip install 'vllm==0.11.0' tqdm  # a comment", "  # a comment"),
    ],
)
def test_the_plug_ins_call_stands_behind_quotes(command: str, arguments: str) -> None:
    head = command.removesuffix(arguments)
    after = output(f"{command}\n", unsafe=True, name="install.sh")
    wanted = "pip install vllm-ascend==0.11.0 --extra-index-url https://download.pytorch.org/whl/cpu"
    assert after == f"{head} && {wanted}{arguments}\n"


def test_a_command_whose_only_package_goes_is_left_to_a_person() -> None:
    text = "RUN pip install --resume-retries 999 --no-cache-dir nvidia-cudnn-cu12==9.8.0.87\n"
    assert output(text, unsafe=True, name="Dockerfile") == text
