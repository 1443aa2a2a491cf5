"""Horovod under TensorFlow 1: what the adapter has in its place, and what is told because it has not."""

from __future__ import annotations

import pytest

from ...harness import findings, output

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"


def test_the_inner_reduction_adds() -> None:
    out = output(HEAD + "hvd.init()\ny = hvd.mpi_ops._allreduce(x, name='n')\n", tensorflow="1", unsafe=True)
    assert 'y = hccl_ops.allreduce(x, "sum")\n' in out
    assert "horovod" not in out


def test_all_variables_are_broadcast_by_a_group() -> None:
    out = output(HEAD + "hvd.init()\nsess.run(hvd.broadcast_global_variables(root))\n", tensorflow="1", unsafe=True)
    assert (
        "sess.run(tf.group(*[tf.assign(v, hccl_ops.broadcast([v], root)[0]) for v in tf.global_variables()"
        " if v.dtype.base_dtype.is_floating]))\n" in out
    )
    assert "horovod" not in out


@pytest.mark.parametrize("call", ["hvd.broadcast_global_variables(choose())", "hvd.mpi_ops._allreduce(*x)"])
def test_what_is_not_plain_is_told(call: str) -> None:
    text = HEAD + f"y = {call}\n"
    assert "NPU915" in [one.code for one in findings(text, tensorflow="1")]
    assert output(text, tensorflow="1", unsafe=True) == text


@pytest.mark.parametrize(
    ("use", "subject"),
    [
        ("hvd.something(1)", "hvd.something"),
        ("print(hvd.__version__)", "hvd.__version__"),
        ("c = hvd.Compression.fp16", "hvd.Compression.fp16"),
        ("use(hvd)", "hvd"),
        ("opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)", "hvd.DistributedOptimizer"),
        ("t = hvd.allreduce(t, op=hvd.Sum)", "hvd.allreduce"),
        ("t = hvd.allgather(t)", "hvd.allgather"),
    ],
)
def test_nothing_of_horovod_is_left_in_silence(use: str, subject: str | None) -> None:
    found = [one.subject for one in findings(HEAD + use + "\n", tensorflow="1") if one.code in ("NPU903", "NPU915")]
    assert found == ([subject] if subject else [])
    if "Distributed" not in use and ".allreduce" not in use:
        assert output(HEAD + use + "\n", tensorflow="1", unsafe=True) == HEAD + use + "\n"


def test_other_horovods_are_not_meant() -> None:
    text = "import torch\nimport horovod.torch as hvd\nhvd.something(1)\nprint(hvd.__version__)\n"
    assert "NPU915" not in [one.code for one in findings(text)]
