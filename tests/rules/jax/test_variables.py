"""Variables of XLA and JAX: what an Ascend machine's CPU reads of them."""

from __future__ import annotations

import pytest

from ...harness import findings, output


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('XLA_FLAGS="--xla_force_host_platform_device_count=8" python train.py\n', None),
        (
            'XLA_FLAGS="--xla_gpu_autotune_level=2 --xla_force_host_platform_device_count=8" python train.py\n',
            'XLA_FLAGS="--xla_force_host_platform_device_count=8" python train.py\n',
        ),
        ('export XLA_FLAGS="--xla_gpu_triton_gemm_any=True"\n', None),
    ],
)
def test_flags_for_gpus_are_left_out(line: str, after: str | None) -> None:
    assert output(line, unsafe=True, name="run.sh") == (after or line)


def test_a_flag_that_xla_may_not_know_is_told() -> None:
    (found,) = findings('export XLA_FLAGS="--xla_gpu_triton_gemm_any=True"\n', name="run.sh")
    assert "ends the process" in found.advice
    assert not findings('export XLA_FLAGS="--xla_force_host_platform_device_count=8"\n', name="run.sh")


@pytest.mark.parametrize("name", ["XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"])
def test_memory_of_gpus_has_no_effect(name: str) -> None:
    (found,) = findings(f"export {name}=false\n", name="run.sh")
    assert "has no effect" in found.message


def test_cards_of_a_program_on_jax_are_not_renamed() -> None:
    text = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\nimport jax\n\nprint(jax.devices())\n'
    assert output(text, unsafe=True) == text
    both = text.replace("import jax\n", "import jax\nimport torch\n")
    assert "ASCEND_RT_VISIBLE_DEVICES" in output(both, unsafe=True)


def test_cards_hidden_from_flax_beside_pytorch_stay() -> None:
    text = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport flax\nimport torch\n'
    assert output(text, unsafe=True) == text
