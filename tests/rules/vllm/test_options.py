"""Options of vLLM's server: on command lines, in variables, in compose files and manifests."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output

SERVICE = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n"
NPU_SERVICE = SERVICE.replace("vllm/vllm-openai", "quay.io/ascend/vllm-ascend")


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("vllm serve m --device cuda --port 80\n", "vllm serve m --port 80\n", "run.sh"),
        ("vllm serve m --device=cuda\n", "vllm serve m\n", "run.sh"),
        (
            "python -m vllm.entrypoints.openai.api_server --model m --device cuda\n",
            "python -m vllm.entrypoints.openai.api_server --model m\n",
            "run.sh",
        ),
        ("vllm serve m \\\n  --device cuda \\\n  --seed 1\n", "vllm serve m \\\n  --seed 1\n", "run.sh"),
        ("ARGS='--device cuda --seed 1'\nvllm serve m $ARGS\n", "ARGS='--seed 1'\nvllm serve m $ARGS\n", "run.sh"),
        ('bash -c "vllm serve m --device cuda"\n', 'bash -c "vllm serve m"\n', "run.sh"),
        ("vllm serve m --block-size 16\n", "vllm serve m --block-size 128\n", "run.sh"),
        ("vllm serve m --enable-dbo --attention-backend FLASHINFER\n", "vllm serve m\n", "run.sh"),
        (
            f"{SERVICE}    command: --model m --device cuda --seed 1\n",
            f"{NPU_SERVICE}    command: vllm serve m --seed 1\n",
            "compose.yaml",
        ),
        (
            f"{SERVICE}    command:\n      - --device\n      - cuda\n      - --seed=1\n",
            f"{NPU_SERVICE}    command:\n      - vllm\n      - serve\n      - --seed=1\n",
            "compose.yaml",
        ),
        (
            f'{SERVICE}    command: ["--model", "m", "--device", "cuda"]\n',
            f'{NPU_SERVICE}    command: ["vllm", "serve", "m"]\n',
            "compose.yaml",
        ),
        (
            'FROM vllm-mine:1\nCMD ["vllm", "serve", "m", "--device", "cuda"]\n',
            None,
            "Dockerfile",
        ),
    ],
)
def test_an_option_of_cuda_is_taken_out(before: str, after: str | None, name: str) -> None:
    new = output(before, unsafe=True, name=name)
    assert new == after if after is not None else "npu" not in new


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --gpu-memory-utilization 0.9 --num-gpu-blocks-override 10 --cudagraph-capture-sizes 1 2\n",
        "vllm serve m --quantization ascend --enforce-eager --tensor-parallel-size 4\n",
        "vllm --version\npip show vllm\n",
        "echo vllm serve m --device cuda\n",
    ],
)
def test_what_only_sounds_like_cuda_stays(text: str) -> None:
    assert not findings(text, name="run.sh")


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("--quantization awq", "BF16"),
        ("-q gptq", "BF16"),
        ("--kv-cache-dtype fp8", "INT8"),
        ('--kv-transfer-config \'{"kv_connector": "NixlConnector"}\'', "Mooncake"),
    ],
)
def test_what_is_refused_is_told(option: str, word: str) -> None:
    (found,) = findings(f"vllm serve m {option}\n", name="run.sh")
    assert (found.code, found.safety) == ("NPU931", Safety.MANUAL)
    assert word in found.advice


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CUDA_LAUNCH_BLOCKING=1 vllm serve m\n", "run.sh"),
        ("FROM quay.io/ascend/vllm-ascend:v0.11.0\nENV CUDA_LAUNCH_BLOCKING=1\n", "Dockerfile"),
        ("import os\nfrom vllm import LLM\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n", "program.py"),
    ],
)
def test_vllm_is_never_told_to_launch_blocking(text: str, name: str) -> None:
    assert output(text, unsafe=True, name=name) == text
    assert any("refuses to start" in found.advice for found in findings(text, name=name))


def test_paddle_has_a_flag_of_its_own_for_blocking_launches() -> None:
    text = "CUDA_LAUNCH_BLOCKING=1 python -m paddle.distributed.launch train.py\n"
    assert output(text, name="run.sh") == text.replace("CUDA_LAUNCH_BLOCKING", "FLAGS_npu_blocking_run")
