"""Programs whose models are PyTorch's or JAX's: TensorFlow beside them reads data, and never opens the NPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

MAIN = """import tensorflow as tf

import work


def main():
    tf.io.gfile.makedirs("out")
    {call}


if __name__ == "__main__":
    main()
"""
TORCH = "import torch\nfrom net import Net\n\n\ndef train(): ...\n\n\ndef evaluate():\n    Net().to('cpu')\n"
NET = "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n"
JAX = "import flax\nimport jax\n\n\ndef train(): ...\n\n\ndef evaluate():\n    jax.pmap(print)\n"
KERAS = "import tensorflow as tf\n\n\ndef train(): ...\n\n\ndef evaluate():\n    tf.keras.Model().fit(1)\n"


@pytest.mark.parametrize("call", ["work.evaluate()", "work.train()"])
@pytest.mark.parametrize(("work", "opens"), [(TORCH, False), (JAX, False), (KERAS, True)])
def test_a_program_opens_the_npu_for_models_of_tensorflow_alone(
    call: str, work: str, opens: bool, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "requirements.txt").write_text("tensorflow==2.6.5\n")
    (source / "main.py").write_text(MAIN.format(call=call))
    (source / "work.py").write_text(work)
    (source / "net.py").write_text(NET)
    npuify.migrate(source, tmp_path / "out", Options(cache=False, jobs=1, tf_adapter="2.6.5", unsafe=True))
    assert ("npu_device" in (tmp_path / "out/main.py").read_text()) is opens
