"""Estimators of the adapter's own kinds on TensorFlow 1.15: parameter servers, and those made of a Keras model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ...harness import output
from .conftest import simulate
from .test_programs import DATA

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

SERVERS = """
import json, os, socket, subprocess, sys
if "TF_CONFIG" not in os.environ:
    # A server and the chief find each other by TF_CONFIG, as on a cluster.
    ports = [socket.socket() for _ in range(2)]
    for one in ports:
        one.bind(("127.0.0.1", 0))
    cluster = {job: ["127.0.0.1:%d" % one.getsockname()[1]] for job, one in zip(("ps", "chief"), ports)}
    for one in ports:
        one.close()
    started = []
    for job in cluster:
        told = json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}})
        started.append(subprocess.Popen([sys.executable, __file__], env=dict(os.environ, TF_CONFIG=told)))
    code = started[1].wait()
    started[0].kill()
    sys.exit(code)
import tensorflow as tf
DATA
def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(16)
def model(features, labels, mode):
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, w) - labels))
    opt = tf.train.GradientDescentOptimizer(0.1)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=opt.minimize(loss, tf.train.get_global_step()))
class Last(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(context.session.graph.get_tensor_by_name("Mean:0"))
    def after_run(self, context, values):
        self.loss = values.results
config = tf.estimator.RunConfig(model_dir="out", train_distribute=STRATEGY, save_checkpoints_steps=50)
estimator = tf.estimator.Estimator(model_fn=model, config=config)
last = Last()
spec = tf.estimator.TrainSpec(data, max_steps=20, hooks=[last])
tf.estimator.train_and_evaluate(estimator, spec, tf.estimator.EvalSpec(data, steps=1))
print("LOSS %.5f" % last.loss)
""".replace("DATA", DATA)
PLAIN = "tf.distribute.experimental.ParameterServerStrategy()"

OF_KERAS = (
    DATA
    + """
import tensorflow as tf
from npu_bridge.npu_init import NPURunConfig
from npu_bridge.estimator.npu.keras_to_npu import model_to_npu_estimator
def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
config = NPURunConfig(model_dir="model", save_checkpoints_steps=20, iterations_per_loop=LOOP)
estimator = model_to_npu_estimator(keras_model=model, model_dir="model", config=config)
estimator.train(data, steps=20)
found = estimator.evaluate(lambda: data().take(4))
print("LOSS %.5f STEP %d" % (found["loss"], found["global_step"]))
"""
)


def program(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "program.py"
    file.write_text(text)
    return file


def loss(out: str) -> str:
    return re.findall(r"LOSS (\S+)", out)[0]


def test_parameter_servers_train_as_before(tmp_path: Path) -> None:
    before = SERVERS.replace("STRATEGY", PLAIN)
    after = output(before, tensorflow="1", unsafe=True)
    assert "NPUEstimator(" in after
    assert "distribute=" in after, after
    told = simulate("1.15", program(tmp_path / "before", before))
    done = simulate("1.15", program(tmp_path / "after", after), environment={"JOB_ID": "1"})
    assert done.code == 0, done.err[-1500:]
    assert loss(done.out) == loss(told.out)
    assert "asked nothing of npu_bridge" in told.err
    assert "mix_compile_mode=True" in done.err


@pytest.mark.parametrize("strategy", ["tf.contrib.distribute.ParameterServerStrategy()", "None"])
def test_another_strategy_is_refused_beside_a_cluster(tmp_path: Path, strategy: str) -> None:
    text = output(SERVERS.replace("STRATEGY", PLAIN), tensorflow="1", unsafe=True).replace(PLAIN, strategy)
    done = simulate("1.15", program(tmp_path, text), environment={"JOB_ID": "1"})
    assert done.code != 0
    assert '"cluster" and "distribute" must all be set in ps mode' in done.err


def test_a_keras_model_as_the_adapters_estimator(tmp_path: Path) -> None:
    found = []
    for loop in ("1", "5"):
        text = OF_KERAS.replace("LOOP", loop)
        done = simulate("1.15", program(tmp_path / loop, text), environment={"JOB_ID": "1"})
        assert done.code == 0, done.err[-1500:]
        assert "STEP 20" in done.out
        found.append(loss(done.out))
    assert found[0] == found[1]
    assert float(found[0]) < 0.1
