"""Facts about vLLM, Paddle and the stacks that were silent once: each is told where it stands, or written."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.options import Options

from ...harness import findings, output

SERVE = "vllm serve m "


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        (SERVE + '--kv-transfer-config \'{"kv_buffer_device":"cuda"}\'\n', "run.sh", "NPU931"),
        (SERVE + '--kv-transfer-config \'{"kv_connector":"LLMDataDistCMgrConnector"}\'\n', "run.sh", "NPU931"),
        (SERVE + "--fail-on-environ-validation\n", "run.sh", "NPU931"),
        ("from vllm import LLM\nLLM('openai/whisper-large-v3')\n", "a.py", "NPU930"),
        ("from vllm import LLM\nLLM('deepseek-ai/DeepSeek-V2-Lite')\n", "a.py", "NPU930"),
        ("import os\nos.environ['VLLM_USE_V1'] = '0'\nimport vllm\n", "a.py", "NPU701"),
        ("export VLLM_ASCEND_ENABLE_FLASHCOMM1=1\n" + SERVE + "\n", "run.sh", "NPU703"),
        ("FROM kserve/huggingfaceserver:v0.13.0-gpu\n", "Dockerfile", "NPU934"),
        ("FROM ghcr.io/nvidia/jax:latest\n", "Dockerfile", "NPU934"),
        ("vllm==0.18.0\nopencv-python-headless>=4.13\n", "requirements.txt", "NPU932"),
        ("export FLAGS_cudnn_deterministic=1\npython -m paddle.distributed.launch x.py\n", "run.sh", "NPU703"),
        ("export NPU_VISIBLE_DEVICES=0\npython -m paddle.distributed.launch x.py\n", "run.sh", "NPU703"),
        ("from paddle.inference import Config\nc = Config('a')\nc.gpu_device_id()\n", "a.py", "NPU948"),
        ("from paddle.inference import Config\nc = Config('a')\nc.collect_shape_range_info('b')\n", "a.py", "NPU947"),
        ("from paddle.utils.cpp_extension import load\nload(name='x', sources=['x.cu'])\n", "a.py", "NPU945"),
        ("import paddle.sparse as sp\nsp.nn.ReLU()\n", "a.py", "NPU945"),
        ("onnxruntime-training\ntorch\n", "requirements.txt", "NPU608"),
        ("mindspeed\ntorch\n", "requirements.txt", "NPU606"),
        ("from tensorrt_llm import LLM\n", "a.py", "NPU620"),
        ("from transformers import FlaxAutoModel\n", "a.py", "NPU620"),
        ("from deepspeed.ops.lamb import FusedLamb\n", "a.py", "NPU323"),
        ("from transformers import TrainingArguments\nTrainingArguments('o', no_cuda=True)\n", "a.py", "NPU324"),
        ("import lightning as L\nt = L.Trainer(max_epochs=1)\n", "a.py", "NPU320"),
        ("DS_BUILD_OPS=1 pip install deepspeed\n", "install.sh", "NPU703"),
        ("python -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=megatron\n", "run.sh", "NPU971"),
        ("python -m openrlhf.cli.train_sft --flash_attn\n", "run.sh", "NPU971"),
        ("llama-server -m a.gguf -ngl 99\n", "run.sh", "NPU971"),
        ("available_node_types:\n  a:\n    resources: {CPU: 8, GPU: 1}\n", "cluster.yaml", "NPU983"),
        ("resources:\n  accelerators: A100:8\nrun: python x.py\n", "task.yaml", "NPU983"),
    ],
)
def test_what_is_told(text: str, name: str, code: str) -> None:
    if name.endswith(".py"):
        assert code in {one.code for one in findings(text)}
        return
    from ...harness import worker

    found, errors, _, _ = worker().analyse(name, text.encode())
    assert not errors
    assert code in {one.code for one in found}


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (
            "from vllm.config import WeightTransferConfig\nc = WeightTransferConfig(backend='ipc')\n",
            "'npu_ipc'",
            "a.py",
        ),
        ("import onnxruntime\np = [('CUDAExecutionProvider', {'has_user_compute_stream': '1'})]\n", "{}", "a.py"),
        ("JAX_PLATFORMS=npu python x.py\n", "JAX_PLATFORMS=cpu ", "run.sh"),
        ('CMAKE_ARGS="-DGGML_CUDA=on" pip install llama-cpp-python\n', '"-DGGML_CANN=on"', "install.sh"),
        ('CMAKE_ARGS="-DBUILD_TESTS=on" pip install x\n', '"-DBUILD_TESTS=on"', "install.sh"),
        ("spacy[cuda12x,lookups]\n", "spacy[lookups]\n", "requirements.txt"),
        ("tensorflow[and-cuda]==2.15\n", "tensorflow-cpu==2.6.5\n", "requirements.txt"),
        ("torch\ntensorflow-gpu==2.10\n", "tensorflow==2.10\n", "requirements.txt"),
        ("paddlepaddle==3.3.0\npaddle-custom-npu==3.1.0\n", "paddle-custom-npu==3.3.0\n", "requirements.txt"),
        ("dependencies:\n  - jaxlib=0.4.23=*cuda*\n", "- jaxlib=0.4.23\n", "environment.yml"),
        ("NCCL_SOCKET_IFNAME=eth0\n", "HCCL_SOCKET_IFNAME=eth0\n", ".deepspeed_env"),
        ("vllm-ascend\n", "vllm-ascend==0.23.0\n", "requirements.txt"),
    ],
)
def test_what_is_written(before: str, after: str, name: str) -> None:
    assert after in output(before, unsafe=True, name=name)


def test_several_things_of_one_table_are_told_together() -> None:
    text = SERVE + '--compilation-config \'{"use_inductor": true, "custom_ops": ["+rms_norm"]}\'\n'
    from ...harness import worker

    found, _, _, _ = worker().analyse("run.sh", text.encode())
    (told,) = [one for one in found if one.code == "NPU931"]
    assert "level" in told.message
    assert "custom_ops" in told.message


ENGINE = "from vllm import LLM\nllm = LLM('m')\n"


@pytest.mark.parametrize(
    ("program", "script", "told"),
    [
        (ENGINE, "export VLLM_WORKER_MULTIPROC_METHOD=spawn\npython a.py\n", "NPU981"),
        (ENGINE, "export VLLM_WORKER_MULTIPROC_METHOD=fork\npython a.py\n", "NPU981"),
        (ENGINE, "export VLLM_WORKER_MULTIPROC_METHOD=spawn\npython other.py\n", ""),
        (
            ENGINE.replace("llm =", "if __name__ == '__main__':\n    llm ="),
            "VLLM_WORKER_MULTIPROC_METHOD=spawn python a.py\n",
            "",
        ),
        ("import os\nos.environ['VLLM_WORKER_MULTIPROC_METHOD'] = 'spawn'\n" + ENGINE, "python a.py\n", "NPU938"),
    ],
)
def test_an_engine_that_each_spawned_process_would_make(program: str, script: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(program)
    (tmp_path / "run.sh").write_text(script)
    codes = {one.code for one in npuify.scan([tmp_path], Options(cache=False)).findings}
    assert codes & {"NPU981", "NPU938"} == ({told} if told else set())


def test_an_environment_for_gpus_decides_the_torch_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "gpu_environment.yml").write_text("dependencies:\n  - pytorch=2.1.0\n")
    assert npuify.scan([tmp_path], Options(cache=False)).release.torch_npu.startswith("2.1.0")
