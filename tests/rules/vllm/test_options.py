"""Options of vLLM's server: on command lines, in variables, in compose files and manifests."""

from __future__ import annotations

import pytest

from npuify.knowledge.frameworks.vllm import VllmAim
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
    ("option", "word"),
    [
        ("-ac.backend=FLASHINFER", "CUDA back ends"),
        ("--attention-config.backend FLASHINFER", "CUDA back ends"),
        ("--numa-bind", "its own binding"),
        ("--load-format runai_streamer", "netloader"),
        ("--compilation-config '{\"mode\":1}'", "modes 1 and 2"),
        ('-cc \'{"use_inductor_graph_partition": true, "custom_ops": ["none"]}\'', "custom_ops"),
        ('--compilation-config \'{"pass_config": {"fuse_norm_quant": true}}\'', "fusions"),
        ("--prefill-context-parallel-size 2", "ValueError"),
        ("-pcp 2", "ValueError"),
        ("--enable-eplb", "raises"),
        ("--dcp-comm-backend a2a", "does not read"),
        ("--enable-sleep-mode", "expandable_segments"),
        ("--enable-lora", "experimental"),
        ('--speculative-config \'{"method": "ngram", "num_speculative_tokens": 16}\'', "at most 15"),
        ('--kv-transfer-config \'{"kv_connector":"P2pNcclConnector"}\'', "no form"),
        ('--weight-transfer-config \'{"backend": "nccl"}\'', "hccl"),
        ('--additional-config \'{"torchair_graph_config": {"enabled": true}}\'', "Torchair"),
        # What vLLM itself has dropped: the newest set is for 0.23.
        ("--swap-space 4", "no matter of the NPU"),
        ("--cuda-graph-sizes 1 2", "no matter of the NPU"),
        ("--compilation-config '{\"level\": 3}'", "no level"),
    ],
)
def test_each_argument_of_the_table_is_told(option: str, word: str) -> None:
    (found,) = findings(f"vllm serve m {option}\n", name="run.sh")
    assert found.code == "NPU931"
    assert word in f"{found.message} {found.advice}"


def test_what_vllm_dropped_is_told_where_it_is_aimed_at_only() -> None:
    assert VllmAim().argument("task", "embed") is not None
    assert VllmAim(required="==0.11.0").argument("task", "embed") is None
    assert VllmAim(required="==0.11.0").argument("device", "cuda") is not None
    assert VllmAim(required="==0.11.0").argument("swap_space", "4") is None
    for name in ("num_scheduler_steps", "use_v2_block_manager", "speculative_model", "preemption_mode"):
        assert VllmAim(required="==0.11.0").argument(name, "x") is not None
    assert VllmAim(required="==0.10.2").argument("num_scheduler_steps", "8") is None


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "quantized"),
        ("TheBloke/Llama-2-7B-GPTQ", "quantized"),
        ("model.gguf", "quantized"),
        ("unsloth/Llama-3-8b-bnb-4bit", "quantized"),
        ("RedHatAI/Llama-3-8B-FP8", "FP8"),
        ("deepseek-ai/DeepSeek-R1", "FP8"),
        ("openai/gpt-oss-20b", "MXFP4"),
    ],
)
def test_names_of_quantized_weights_are_told(model: str, word: str) -> None:
    in_shell, in_python = f"vllm serve {model} --port 80\n", f"from vllm import LLM\nllm = LLM(model={model!r})\n"
    for text, name in ((in_shell, "run.sh"), (in_python.replace("'", '"'), "program.py")):
        (found,) = [one for one in findings(text, name=name) if one.code in ("NPU930", "NPU931")]
        assert found.safety is Safety.MANUAL
        assert word in found.message


@pytest.mark.parametrize("model", ["Qwen/Qwen2.5-7B-Instruct", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "./model"])
def test_other_weights_are_taken(model: str) -> None:
    assert not findings(f"vllm serve {model}\n", name="run.sh")
    assert not [one for one in findings(f"from vllm import LLM\nLLM('{model}')\n") if one.code == "NPU930"]


@pytest.mark.parametrize(
    ("variable", "value", "after"),
    [
        (
            "VLLM_PLUGINS",
            "mine",
            "mine,ascend,ascend_kv_connector,ascend_model_loader,ascend_service_profiling,ascend_model",
        ),
        ("VLLM_PLUGINS", "ascend", "ascend"),
        ("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "300", "1837"),
        ("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "3600", "3600"),
        ("VLLM_USE_V1", "1", "1"),
        ("VLLM_USE_V2_MODEL_RUNNER", "0", "0"),
        ("VLLM_WORKER_MULTIPROC_METHOD", "fork", "spawn"),
        ("VLLM_TARGET_DEVICE", "cuda", "empty"),
    ],
)
def test_variables_of_vllm(variable: str, value: str, after: str) -> None:
    assert output(f"export {variable}={value}\n", unsafe=True, name="run.sh") == f"export {variable}={after}\n"


@pytest.mark.parametrize("variable", ["VLLM_USE_V1=0", "VLLM_USE_V2_MODEL_RUNNER=1", "VLLM_TORCH_PROFILER_DIR=/tmp"])
def test_variables_that_a_person_takes_out(variable: str) -> None:
    text = f"export {variable}\n"
    assert output(text, unsafe=True, name="run.sh") == text
    (found,) = findings(text, name="run.sh")
    assert found.safety is Safety.MANUAL


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
