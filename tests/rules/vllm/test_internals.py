"""Programs that plug into vLLM, and variables that other libraries than torch read."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output


def test_the_communicator_of_the_plugin_takes_the_place_of_nccls() -> None:
    text = (
        "from vllm.distributed.device_communicators.pynccl import PyNcclCommunicator\n\nx = PyNcclCommunicator(group)\n"
    )
    assert output(text, unsafe=True).startswith(
        "from vllm_ascend.distributed.device_communicators.pyhccl import PyHcclCommunicator as PyNcclCommunicator\n"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from vllm.platforms import current_platform\nif current_platform.is_cuda():\n    pass\n", "device_type"),
        ("from vllm.v1.worker.gpu_worker import Worker\n", "NPUWorker"),
        ("from vllm import _custom_ops as ops\n", "torch_npu"),
        ("import vllm._C\n", "torch_npu"),
        ("from vllm.platforms import current_platform\nkey = current_platform.dispatch_key\n", "PrivateUse1"),
        ("from vllm import LLM\nLLM('m').llm_engine.model_executor.driver_worker.model\n", "collective_rpc"),
        ("from vllm.sampling_params import GuidedDecodingParams\n", "StructuredOutputsParams"),
        ("from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend\n", "platform"),
    ],
)
def test_what_reaches_into_vllm_is_told(text: str, told: str) -> None:
    assert output(text, unsafe=True) == text
    (found,) = [one for one in findings(text) if one.code == "NPU936"]
    assert found.safety is Safety.MANUAL
    assert told in found.advice


@pytest.mark.parametrize(
    "text",
    [
        "from vllm import LLM, SamplingParams\nllm = LLM('m')\n",
        "from vllm.platforms import current_platform\nprint(current_platform.device_type)\n",
        "from vllm.utils import get_open_port\n",
    ],
)
def test_plain_programs_need_no_edit(text: str) -> None:
    assert not [one for one in findings(text) if one.code == "NPU936"]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("JAX_PLATFORMS=cuda python x.py\n", "JAX_PLATFORMS=cpu python x.py\n", "run.sh"),
        ("JAX_PLATFORMS=cuda,cpu python x.py\n", "JAX_PLATFORMS=cpu python x.py\n", "run.sh"),
        ("JAX_PLATFORMS=cpu python x.py\n",) * 2 + ("run.sh",),
        ("export LMCACHE_NIXL_BUFFER_DEVICE=cuda\n",) * 2 + ("run.sh",),
        ('docker run -e "LMCACHE_DEVICE=cuda" image\n',) * 2 + ("run.sh",),
        ("VLLM_TARGET_DEVICE=cuda pip install -e .\n", "VLLM_TARGET_DEVICE=empty pip install -e .\n", "run.sh"),
        ("ENV VLLM_WORKER_MULTIPROC_METHOD=fork\n", "ENV VLLM_WORKER_MULTIPROC_METHOD=spawn\n", "Dockerfile"),
        ("ENV VLLM_WORKER_MULTIPROC_METHOD=spawn\n",) * 2 + ("Dockerfile",),
        (
            "import os\nos.environ['JAX_PLATFORMS'] = 'cuda'\nimport jax.numpy as jnp\n",
            "import os\nos.environ['JAX_PLATFORMS'] = 'cpu'\nimport jax.numpy as jnp\n",
            "program.py",
        ),
    ],
)
def test_variables_of_other_libraries_keep_their_words(before: str, after: str, name: str) -> None:
    assert output(before, unsafe=True, name=name) == after


def test_a_variable_that_stays_is_not_told() -> None:
    assert not findings("JAX_PLATFORMS=cpu python x.py\n", name="run.sh")
    assert not [one for one in findings("import os\nos.environ['JAX_PLATFORMS'] = 'cpu'\n") if one.code == "NPU701"]


def test_variables_of_vllm_without_effect_are_told_in_python() -> None:
    text = "import os\nos.environ['VLLM_ATTENTION_BACKEND'] = 'FLASHINFER'\n"
    assert [one.code for one in findings(text)] == ["NPU701"]
