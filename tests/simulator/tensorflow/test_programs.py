"""Programs on the simulated adapter, one and several ranks, on each TensorFlow that is here."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from .conftest import simulate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

DATA = """
import numpy as np
rng = np.random.RandomState(0)
X = rng.randn(64, 4).astype("float32")
Y = (X @ np.array([[1.0], [2.0], [3.0], [4.0]])).astype("float32")
"""

SESSIONS = (
    DATA
    + """
import tensorflow as tf
from npu_bridge.npu_init import *
npu_sess, npu_shutdown = init_resource()
rank, size = get_rank_id(), get_rank_size()
x = tf.placeholder(tf.float32, [None, 4]); y = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable("w", [4, 1], initializer=tf.random_normal_initializer(seed=rank))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
step = npu_distributed_optimizer_wrapper(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)
sync = tf.group([tf.assign(v, hccl_ops.broadcast([v], 0)[0]) for v in tf.trainable_variables()])
config = tf.ConfigProto()
option = config.graph_options.rewrite_options.custom_optimizers.add()
option.name = "NpuOptimizer"
option.parameter_map["precision_mode_v2"].s = tf.compat.as_bytes("mixed_float16")
with tf.Session(config=npu_config_proto(config)) as sess:
    sess.run(tf.global_variables_initializer())
    if size > 1:
        sess.run(sync)
    part = slice(rank * 64 // size, (rank + 1) * 64 // size)
    for i in range(20):
        sess.run(step, {x: X[part], y: Y[part]})
    print("LOSS %.5f" % sess.run(loss, {x: X, y: Y}))
shutdown_resource(npu_sess, npu_shutdown)
close_session(npu_sess)
"""
)

ESTIMATOR = (
    DATA
    + """
import os
import tensorflow as tf
from npu_bridge.npu_init import NPUEstimator, NPURunConfig, npu_distributed_optimizer_wrapper
rank, size = int(os.environ.get("RANK_ID", 0)), int(os.environ.get("RANK_SIZE", 1))
def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).shard(size, rank).repeat().batch(16 // size, drop_remainder=True)
def model(features, labels, mode, params):
    w = tf.get_variable("w", [4, 1], initializer=tf.random_normal_initializer(seed=rank))
    loss = tf.reduce_mean(tf.square(tf.matmul(features, w) - labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    opt = npu_distributed_optimizer_wrapper(tf.train.GradientDescentOptimizer(params["rate"]))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=opt.minimize(loss, tf.train.get_global_step()))
config = NPURunConfig(model_dir="model%d_%d" % (size, rank), save_checkpoints_steps=50, iterations_per_loop=LOOP)
estimator = NPUEstimator(model, config=config, params={"rate": 0.1})
estimator.train(data, steps=20)
found = estimator.evaluate(lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(64))
print("LOSS %.5f STEP %d" % (found["loss"], found["global_step"]))
"""
)

KERAS = (
    """
import npu_device as npu
npu.global_options().precision_mode_v2 = "mixed_float16"
dev = npu.open().as_default()
"""
    + DATA
    + """
import tensorflow as tf
ds, batch = npu.distribute.shard_and_rebatch_dataset(tf.data.Dataset.from_tensor_slices((X, Y)), 16)
ds = ds.batch(batch, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.RandomNormal(seed=dev.worker_id), input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.1)
if dev.workers_num > 1:
    opt = npu.distribute.npu_distributed_keras_optimizer_wrapper(opt)
model.compile(opt, "mse")
npu.distribute.broadcast(model.trainable_variables, root_rank=0)
model.fit(ds, epochs=5, verbose=0)
print("LOSS %.5f" % model.evaluate(X, Y, verbose=0))
"""
)

LOOP = (
    """
import npu_device as npu
dev = npu.open().as_default()
"""
    + DATA
    + """
import tensorflow as tf
w = tf.Variable(tf.ones([4, 1]) * float(dev.worker_id))
npu.distribute.broadcast([w], root_rank=0)
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    gradients = npu.distribute.all_reduce(tape.gradient(loss, [w]))
    TWICE
    w.assign_sub(0.1 * gradients[0])
    return loss
with tf.device("/gpu:0"):
    part = slice(dev.worker_id * 64 // dev.workers_num, (dev.worker_id + 1) * 64 // dev.workers_num)
    for i in range(20):
        step(X[part], Y[part])
print("LOSS %.5f" % tf.reduce_mean(tf.square(tf.matmul(X, w) - Y)).numpy())
"""
)

SECOND = ["2.6", "2.12"]


def losses(text: str) -> list[str]:
    return re.findall(r"LOSS (\d+\.\d+)", text)


def program(folder: Path, text: str) -> Path:
    made = folder / "train.py"
    made.write_text(text)
    return made


def same_on_one_and_two(version: str, file: Path) -> tuple[str, str]:
    """Two ranks with half of each batch have to come to what one comes to with all of it."""
    one = simulate(version, file, "--ranks", "1")
    assert one.code == 0, one.err
    two = simulate(version, file, "--ranks", "2")
    assert two.code == 0, two.err
    (alone,), both = losses(one.out), losses(two.out)
    assert len(both) == 2
    assert all(abs(float(each) - float(alone)) < 2e-5 for each in both), (alone, both)
    return one.err, two.err


def test_sessions(tmp_path: Path) -> None:
    one, two = same_on_one_and_two("1.15", program(tmp_path, SESSIONS))
    assert "2 sessions (precision_mode_v2=mixed_float16)" in one
    assert "20 allreduce with 20 tensors; 1 broadcast with 1 tensor" in two
    assert "note:" not in one + two


def test_an_estimator(tmp_path: Path) -> None:
    _, two = same_on_one_and_two("1.15", program(tmp_path, ESTIMATOR.replace("LOOP", "1")))
    assert "1 broadcast with 1 tensor" in two


def test_iterations_per_loop_are_steps_of_one_run(tmp_path: Path) -> None:
    plain = simulate("1.15", program(tmp_path, ESTIMATOR.replace("LOOP", "1")), "--ranks", "1")
    (tmp_path / "train.py").unlink()
    looped = simulate(
        "1.15", program(tmp_path, ESTIMATOR.replace("LOOP", "5").replace("model%d", "loop%d")), "--ranks", "1"
    )
    assert looped.code == 0, looped.err
    assert re.findall("STEP .*", plain.out) == re.findall("STEP .*", looped.out) == ["STEP 20"]


@pytest.mark.parametrize("version", SECOND)
def test_keras(tmp_path: Path, version: str) -> None:
    one, two = same_on_one_and_two(version, program(tmp_path, KERAS))
    assert "device 0 opened (precision_mode_v2=mixed_float16)" in one
    assert "20 allreduce with 40 tensors; 1 broadcast with 2 tensors" in two


@pytest.mark.parametrize("version", SECOND)
def test_a_loop_of_ones_own(tmp_path: Path, version: str) -> None:
    _, two = same_on_one_and_two(version, program(tmp_path, LOOP.replace("TWICE", "")))
    assert 'tf.device("/gpu:0") without effect' in two
    assert "note:" not in two


def test_gradients_that_are_averaged_twice_are_told(tmp_path: Path) -> None:
    file = program(tmp_path, LOOP.replace("TWICE", "gradients = npu.distribute.all_reduce(gradients)"))
    assert "averaged over the ranks are averaged again" in simulate("2.6", file, "--ranks", "2").err


def test_tensorflow_1_programs_on_2_6(tmp_path: Path) -> None:
    text = SESSIONS.replace(
        "import tensorflow as tf\nfrom npu_bridge.npu_init import *",
        "import npu_device\nfrom npu_device.compat.v1.npu_init import *\nnpu_device.compat.enable_v1()\n"
        "import tensorflow.compat.v1 as tf",
    )
    same_on_one_and_two("2.6", program(tmp_path, text))


REFUSED = [
    ("1.15", "from npu_bridge.npu_init import *\nget_rank_id()", "get rank id error"),
    ("1.15", "from npu_bridge.npu_init import *\nget_npu_rank_id()", "name '_global_dict' is not defined"),
    ("1.15", "from npu_bridge.npu_init import npu_open", "cannot import name 'npu_open'"),
    ("1.15", "from npu_bridge.npu_init import *\nNPURunConfig(jit_compile=True)", "Expected str, got bool"),
    ("1.15", "from npu_bridge.npu_init import *\nNPURunConfig(presicion_mode='x')", "unexpected keyword argument"),
    ("1.15", "from npu_bridge.npu_init import *\nNPUEstimator(len, config=tf.estimator.RunConfig())", "NPUConfigs"),
    ("1.15", "from npu_bridge.npu_init import *\nNPUEstimator(lambda features: 0, config=NPURunConfig())", "JOB_ID"),
    ("1.15", "from npu_bridge.npu_init import *\nhccl_ops.broadcast(tf.constant(1.0), 0)", "Expected list"),
    ("1.15", "import npu_device", "No module named 'npu_device'"),
    ("2.6", "import npu_bridge", "No module named 'npu_bridge'"),
    ("2.6", "import npu_device as npu\nnpu.global_options().jit_compile = True", "Expected str, got bool"),
    ("2.6", "import npu_device as npu\nnpu.global_options().precision = 1", "NpuConfig has no option precision"),
    ("2.6", "import npu_device as npu\nnpu.open(0)\nnpu.open(1)", "as existed instance on [0]"),
    ("2.6", "import npu_device as npu\nnpu.open(9)", "Failed open npu device 9"),
    ("2.6", "from npu_device.compat.v1.npu_init import NPULossScaleOptimizer", "cannot import name"),
    ("2.6", "import npu_device as npu\nnpu.distribute.grouping_broadcast.x", "no attribute 'x'|is not simulated"),
]


@pytest.mark.parametrize(("version", "text", "said"), REFUSED, ids=[f"{row[0]} {row[2]}" for row in REFUSED])
def test_what_the_adapter_refuses_is_refused(tmp_path: Path, version: str, text: str, said: str) -> None:
    done = simulate(version, program(tmp_path, text))
    assert done.code == 1
    assert re.search(said if "|" in said else re.escape(said), done.err), done.err[-500:]


def test_both_ways_to_name_the_ranks_are_refused(tmp_path: Path) -> None:
    file = program(tmp_path, "import npu_device as npu\nnpu.open()")
    done = simulate("2.6", file, environment={"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"})
    assert "RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time" in done.err
    done = simulate("2.6", file, environment={"RANK_SIZE": "2"})
    assert "CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured." in done.err


TOLD = [
    (
        "2.6",
        "import npu_device as npu\nnpu.open().as_default()\nnpu.global_options().precision_mode_v2 = 'fp16'",
        "option precision_mode_v2 is set after npu_device.open()",
    ),
    (
        "2.6",
        "import npu_device as npu, tensorflow as tf\n@tf.function\ndef f(): return 1\nnpu.open().as_default()",
        "a tf.function was made before open().as_default()",
    ),
    ("1.15", "from npu_bridge.npu_init import *\ns = tf.Session()\ns.run(tf.constant(1))", "never closed: 1"),
    ("1.15", "from npu_bridge.npu_init import *\nnpu_hooks_append((1,))\ntf.Session().close()", "keeps lists only"),
    ("1.15", "import tensorflow as tf\ntf.Session().close()", "asked nothing of npu_bridge"),
]


@pytest.mark.parametrize(("version", "text", "said"), TOLD, ids=[row[2] for row in TOLD])
def test_what_gives_no_error_is_told(tmp_path: Path, version: str, text: str, said: str) -> None:
    done = simulate(version, program(tmp_path, text))
    assert done.code == 0, done.err
    assert said in done.err


def test_a_callback_that_does_nothing_is_told(tmp_path: Path) -> None:
    text = KERAS.replace("npu.distribute.broadcast(model.trainable_variables, root_rank=0)", "").replace(
        "verbose=0)\nprint",
        "verbose=0, callbacks=npu_callbacks_append())\nprint",
    )
    text = text.replace("import tensorflow as tf", "import tensorflow as tf\nfrom npu_device.distribute.hccl import *")
    done = simulate("2.6", program(tmp_path, text), "--ranks", "2")
    assert "NPUBroadcastGlobalVariablesCallback of npu_device does nothing" in done.err
    assert "no variables were broadcast" in done.err


def test_a_rank_with_another_graph_is_told(tmp_path: Path) -> None:
    extra = "if rank == 0:\n    extra = npu_allreduce(tf.reduce_sum(w))\nstep ="
    text = SESSIONS.replace("step =", extra, 1)
    done = simulate("1.15", program(tmp_path, text), "--ranks", "2", environment={"NPUIFY_SIMULATE_PATIENCE": "3"})
    assert done.code != 0
    assert "Every rank has to build the same graph" in done.err


def test_the_record_has_everything(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    done = simulate("1.15", program(tmp_path, SESSIONS), "--ranks", "2", "--record", str(file))
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    events = [row["event"] for row in rows if row["rank"] == 1]
    assert events.index("initialize") < events.index("distributed_optimizer") < events.index("broadcast")
    assert {"session", "shutdown", "counts"} <= set(events)
