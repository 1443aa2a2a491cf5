"""Graph code under a condition on the rank, and XLA in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import findings

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nx = tf.placeholder(tf.float32)\nrank = hvd.rank()\n"


def codes(text: str, tensorflow: str) -> list[str]:
    return [one.code for one in findings(text, tensorflow=tensorflow)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("if rank == 0:\n    tf.summary.scalar('x', x)\n", True),
        ("if hvd.rank() == 0:\n    y = tf.reduce_sum(x)\n", True),
        ("if not rank:\n    sess.run(x)\n", True),
        ("if rank == 0 and x is not None:\n    print(session.run(x))\n", True),
        ("from npu_bridge.npu_init import get_rank_id\nif get_rank_id() == 0:\n    sess.run(x)\n", True),
        ("if rank == 0:\n    print('loss')\n", False),
        ("if rank == 0:\n    tf.logging.info('loss')\n    tf.gfile.MakeDirs('x')\n    saver = tf.train.Saver()\n", False),
        ("if rank == 1:\n    sess.run(x)\n", False),
        ("rank = 3\nif rank == 0:\n    sess.run(x)\n", False),
        ("if rank == 0:\n    subprocess.run('ls')\n", False),
        ("if len(x.shape) == 0:\n    sess.run(x)\n", False),
    ],
)  # fmt: skip
def test_graph_code_of_one_rank(text: str, told: bool) -> None:
    assert ("NPU914" in codes(HEAD + text, "1")) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@tf.function(jit_compile=True)\ndef f(x):\n    return x\n", True),
        ("f = tf.function(g, experimental_compile=flag)\n", True),
        ("@tf.function(jit_compile=False)\ndef f(x):\n    return x\n", False),
        ("@other.function(jit_compile=True)\ndef f(x):\n    return x\n", False),
    ],
)
def test_xla_in_functions(text: str, told: bool) -> None:
    assert ("NPU913" in codes("import tensorflow as tf\n" + text, "2")) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("m.compile('sgd', 'mse', jit_compile=True)\n", True),
        ("m.compile('sgd', 'mse')\n", False),
        ("import re\nre.compile('a', jit_compile)\n", False),
    ],
)
def test_keras_compile_has_no_xla_in_2_6(text: str, told: bool) -> None:
    assert ("NPU913" in codes("import tensorflow as tf\n" + text, "2")) == told
    assert "NPU913" not in codes("import tensorflow as tf\n" + text, "1")


@pytest.mark.parametrize(
    ("beside", "told"),
    [("import horovod.tensorflow as hvd\n", 1), ("npu_sess, npu_shutdown = init_resource()\n", 1), ("x = 1\n", 0)],
)
def test_ranks_of_mpi_beside_horovod_are_told_once(beside: str, told: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import tensorflow as tf\n{beside}s = tf.Session()\n")
    text = "import tensorflow as tf\nfrom mpi4py import MPI\n\ncomm = MPI.COMM_WORLD\nseed = MPI.COMM_WORLD.bcast(seed, root=0)\n"
    found = [one.code for one in findings(text, root=tmp_path, name="main.py", tensorflow="1")]
    assert found.count("NPU940") == told
