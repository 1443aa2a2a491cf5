"""Settings of vLLM's in files, and services that start it."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify.model import Safety

from ...harness import findings, output


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (
            "model: m\ndevice: cuda\ngpu-memory-utilization: 0.9\nattention-backend: FLASHINFER\n",
            "model: m\ngpu-memory-utilization: 0.9\n",
            "serve.yaml",
        ),
        (
            "vllm:\n  engine_args:\n    model: m\n    device: cuda\n    max_model_len: 8\n    block_size: 16\n",
            "vllm:\n  engine_args:\n    model: m\n    max_model_len: 8\n    block_size: 128\n",
            "app.yaml",
        ),
        (
            '{"model": "m", "device": "cuda", "enforce_eager": true,\n "enable_dbo": true}\n',
            '{"model": "m", "enforce_eager": true}\n',
            "engine.json",
        ),
    ],
)
def test_settings_of_vllm(before: str, after: str, name: str) -> None:
    assert output(before, unsafe=True, name=name) == after
    assert {one.code for one in findings(before, name=name)} == {"NPU935"}


def test_a_table_that_a_program_reads_is_left_to_a_person() -> None:
    text = "model: m\ndevice: cuda\ngpu_memory_utilization: 0.9\nout_folder: x\n"
    assert output(text, unsafe=True, name="app.yaml") == text
    (found,) = findings(text, name="app.yaml")
    assert (found.code, found.safety) == ("NPU935", Safety.MANUAL)
    assert "PyTorch" in found.advice


@pytest.mark.parametrize(
    "text",
    [
        "model: m\nenable_dbo: false\nmax_model_len: 8\nquantization: ascend\n",
        "model: m\ntensor-parallel-size: 2\ngpu-memory-utilization: 0.9\ndtype: bfloat16\n",
    ],
)
def test_settings_that_an_npu_takes(text: str) -> None:
    assert not findings(text, name="serve.yaml")


def test_a_device_of_pytorch_is_still_npu() -> None:
    text = "model: m\ndevice: cuda\nbatch_size: 8\n"
    assert output(text, name="train.yaml") == text.replace("cuda", "npu")


def test_a_unit_of_systemd() -> None:
    before = (
        "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=0,1\nEnvironment=\"NCCL_SOCKET_IFNAME=eth0\" 'A=b c'\n"
        "ExecStartPre=-/usr/bin/nvidia-smi\nExecStart=/opt/bin/vllm serve m --device cuda \\\n  --port 80\n"
    )
    after = (
        "[Service]\nEnvironment=ASCEND_RT_VISIBLE_DEVICES=0,1\nEnvironment=\"HCCL_SOCKET_IFNAME=eth0\" 'A=b c'\n"
        "ExecStartPre=-/usr/local/bin/npu-smi info\nExecStart=/opt/bin/vllm serve m \\\n  --port 80\n"
    )
    assert output(before, unsafe=True, name="llm.service") == after


def test_systemd_runs_no_shell_that_could_list_devices() -> None:
    text = "[Service]\nExecStart=/usr/bin/docker run --gpus all --name %n image\n"
    assert output(text, unsafe=True, name="llm.service") == text
    assert [one.code for one in findings(text, name="llm.service")] == ["NPU711"]


def test_a_program_of_supervisord() -> None:
    text = "[program:llm]\ncommand=vllm serve m{}\n"
    assert output(text.format(" --device cuda"), name="supervisord.conf") == text.format("")


def test_a_table_that_is_called_vllms() -> None:
    text = "vllm:\n  model: m\n  device: cuda\n  dtype: auto\ntrainer:\n  device: cuda\n"
    assert output(text, name="values.yaml") == text.replace("  device: cuda\n", "", 1).replace("cuda", "npu")
    (found,) = [
        one for one in findings("vllmConfig:\n  maxModelLen: 8\n  dtype: half\n  device: cuda\n", name="values.yaml")
    ]
    assert (found.code, found.edits) == ("NPU935", ())


def test_tables_within_are_judged_as_the_json_of_command_lines_is() -> None:
    text = "model: m\nmax-model-len: 8\ncompilation-config:\n  mode: 1\n  cudagraph_mode: FULL\n"
    (found,) = findings(text, name="serve.yaml")
    assert (found.code, found.start.line) == ("NPU935", 4)


_ENGINE = "from vllm import LLM\nimport yaml\n\nllm = LLM(**yaml.safe_load(open('engine.yaml')))\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("model: m\ndevice: cuda\ndtype: bfloat16\ntensor_parallel_size: 2\n", True),
        ("model: m\ndevice: cuda:0\ndtype: half\n", False),
        ("model: m\ndevice: cuda\nprompts: a.txt\n", False),
    ],
)
def test_settings_that_programs_on_vllm_read_never_say_npu(text: str, after: bool, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(_ENGINE)
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("device"))
    assert output(text, unsafe=True, name="engine.yaml", root=tmp_path) == (without if after else text)
    (found,) = findings(text, name="engine.yaml", root=tmp_path)
    assert (found.code, found.safety is Safety.MANUAL) == ("NPU935", not after)


def test_settings_that_a_program_on_pytorch_reads_say_npu(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(_ENGINE.replace("engine.yaml", "other.yaml"))
    (tmp_path / "train.py").write_text("import torch\nimport vllm\n\nsettings = open('engine.yaml')\n")
    text = "model: m\ndevice: cuda\nbatch_size: 8\n"
    assert output(text, name="engine.yaml", root=tmp_path) == text.replace("cuda", "npu")
