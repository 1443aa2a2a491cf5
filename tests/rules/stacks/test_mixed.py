"""Programs that mix frameworks: what is pinned to the CPU, what crosses, and what the verdict says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.report.verdicts.verdict import judge

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

DATA = "import tensorflow as tf\nimport torch\n\n\ndef data():\n    return tf.data.TFRecordDataset('x')\n\n\nmodel = torch.nn.Linear(2, 2)\n"
PIN = 'tf.config.set_visible_devices([], "GPU")\n'


def codes(text: str) -> list[str]:
    return [one.code for one in findings(text)]


def test_a_pipeline_beside_pytorch_is_pinned_behind_the_imports() -> None:
    new = output(DATA, unsafe=True)
    assert new.count(PIN) == 1
    assert new.index("import torch\n") < new.index(PIN) < new.index("def data")
    assert output(new, unsafe=True) == new
    mine = "import jax\nimport torch  # first\n\nx = jax.numpy.ones(2)\n"
    assert 'jax.config.update("jax_platforms", "cpu")' in output(mine, unsafe=True)
    assert output(DATA.rstrip("\n").replace("\n", "\r\n"), unsafe=True).count("\r\n" + PIN.strip()) == 1


@pytest.mark.parametrize(
    "text",
    [
        DATA.replace("import torch\n", "import numpy\n").replace("torch.nn.Linear(2, 2)", "0"),
        DATA + PIN,
        DATA + "net = tf.keras.Sequential()\n",
        "import jax\nimport torch\nimport optax\n",
        "import jax\nimport torch\njax.config.update('jax_platforms', 'cpu')\n",
    ],
)
def test_what_computes_or_is_pinned_already_is_not_pinned(text: str) -> None:
    assert "NPU974" not in codes(text)


def test_hiding_cards_from_tensorflow_stays() -> None:
    hidden = f'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n{DATA}{PIN}'
    assert output(hidden, unsafe=True) == hidden
    shown = hidden.replace('"-1"', '"0"')
    assert "ASCEND_RT_VISIBLE_DEVICES" in output(shown, unsafe=True)
    alone = 'import os\nimport torch\nos.environ["CUDA_VISIBLE_DEVICES"] = ""\n'
    assert "ASCEND_RT_VISIBLE_DEVICES" in output(alone, unsafe=True)


def test_listing_gpus_for_a_pipeline_is_not_told_of() -> None:
    listing = f'{DATA}{PIN}for gpu in tf.config.list_physical_devices("GPU"):\n    print(gpu)\n'
    assert codes(listing) == []
    assert codes(listing + "tf.keras.Sequential()\n") != []


def test_memory_that_crosses_is_told_of() -> None:
    text = (
        "import cupy\nimport torch\nfrom numba import cuda\nfrom torch.utils.dlpack import from_dlpack, to_dlpack\n"
        "t = torch.zeros(2)\na = cupy.from_dlpack(t)\nb = to_dlpack(t)\nc = from_dlpack(a.toDlpack())\n"
        "d = t.__cuda_array_interface__\ne = cuda.as_cuda_array(t)\nf = t.numpy()\n"
    )
    told = [one for one in findings(text) if one.code == "NPU975"]
    assert [one.start.line for one in told] == [6, 7, 8, 8, 9, 10]
    assert [one.start.line for one in told if one.severity.value == "error"] == [9, 10]
    assert output(text, unsafe=True).count("dlpack") == text.count("dlpack")


FLAX = "import flax.linen as nn\nimport jax\n\n\nclass Net(nn.Module):\n    pass\n\n\nif __name__ == '__main__':\n    print(jax.grad(Net()))\n"


def test_jax_is_counted_by_kind_and_data_is_a_note() -> None:
    (one,) = findings(FLAX)
    assert one.code == "NPU960"
    assert "a training loop (1 place), a model (2 places)" in one.message
    (one,) = findings("import jax.numpy as jnp\n\n\ndef flip(x):\n    return jnp.flip(x)\n")
    assert one.code == "NPU961"
    assert one.severity.value == "info"
    # The layers are PyTorch's.
    text = "import torch\nfrom torch import nn\nimport jax.numpy as jnp\nx = nn.Linear(2, 2)\ny = jnp.ones(2)\n"
    assert [one.code for one in findings(text) if one.code.startswith("NPU96")] == ["NPU961"]


def test_each_program_is_judged_by_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("import jax.numpy as jnp\n\n\ndef flip(x):\n    return jnp.flip(x)\n")
    (tmp_path / "more.py").write_text("import jax.numpy as jnp\n\nzero = jnp.zeros(2)\n")
    (tmp_path / "train.py").write_text(
        "import torch\nfrom data import flip\n\nif __name__ == '__main__':\n    torch.zeros(2).cuda()\n"
    )
    verdict = judge(npuify.scan([tmp_path]))
    assert not verdict.blockers
    assert "based on" not in verdict.summary
    (tmp_path / "net.py").write_text(FLAX)
    verdict = judge(npuify.scan([tmp_path]))
    levels = {program.file: program.level.value for program in verdict.programs}
    assert levels["train.py"] != levels["net.py"]
    assert "based on" not in verdict.summary
    (tmp_path / "train.py").unlink()
    assert "based on jax" in judge(npuify.scan([tmp_path])).summary


def test_what_jax_answers_on_a_machine_with_npus() -> None:
    text = (
        "import jax\n\n"
        'if jax.default_backend() == "gpu":\n    print("a card")\n'
        'fast = jax.devices()[0].platform in ("cpu", "tpu")\n'
        'none = jax.local_devices()[0].platform != "gpu"\n'
        'kind = "gpu" if fast else "cpu"\n'
        'print(kind == "gpu", jax.devices()[0].device_kind == "gpu")\n'
    )
    told = [(one.start.line, one.edits) for one in findings(text) if one.code == "NPU970"]
    assert told == [(3, ()), (6, ())]
