"""What is written for Estimators, on TensorFlow 1.15 itself: where ``config`` stands, and that every session carries it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from npuify.rules.tensorflow.estimators.kinds import CONFIG_AT

from ...harness import output
from .conftest import python_with, simulate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

POSITIONS = """
import importlib, inspect, json, sys
import tensorflow as tf
import tensorflow.contrib
below = {
    "tf.contrib.boosted_trees": ["estimator_batch.estimator", "estimator_batch.dnn_tree_combined_estimator"],
    "tf.contrib.linear_optimizer": ["python.sdca_estimator"],
    "tf.contrib.tensor_forest": ["client.random_forest"],
}
found = {}
for name in json.loads(sys.argv[1]):
    module, _, last = name.rpartition(".")
    places = [module.replace("tf", "tensorflow", 1)]
    places += [places[0] + "." + one for one in below.get(module, [])]
    for place in places:
        try:
            holder = importlib.import_module(place)
        except ImportError:
            holder = tf
            for part in module.split(".")[1:]:
                holder = getattr(holder, part, None)
        made = getattr(holder, last, None)
        if made is not None:
            found[name] = list(inspect.signature(made).parameters).index("config")
print("FOUND " + json.dumps(found))
"""

PROGRAM = """import tensorflow as tf
from tensorflow.contrib import learn
from tensorflow.python.client import session

plain = []
real = session.BaseSession.__init__


def init(self, target="", graph=None, config=None):
    options = config.graph_options.rewrite_options.custom_optimizers if config is not None else []
    plain.append("NpuOptimizer" not in [one.name for one in options])
    real(self, target, graph, config)


session.BaseSession.__init__ = init
# The import of the adapter gives it to every session; what counts here is what the configuration says.
session.Session.__init__ = getattr(session.Session.__init__, "__wrapped__", session.Session.__init__)


def told(name):
    print("%s %s" % (name, "SILENT" if not plain else "PLAIN" if any(plain) else "NPU"))
    del plain[:]


def data():
    return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[0.0], [1.0]])


def old(features, labels, mode):
    w = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((features["x"] * w - labels) ** 2)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, predictions=features["x"] * w, loss=loss, train_op=step)


def new(features, labels, mode):
    made = old(features, labels, mode)
    return tf.estimator.EstimatorSpec(mode, loss=made.loss, train_op=made.train_op)


class BySuper(tf.estimator.Estimator):
    def __init__(self, config=None):
        super(BySuper, self).__init__(new, config=config)


class ByName(tf.estimator.Estimator):
    def __init__(self):
        tf.estimator.Estimator.__init__(self, model_fn=new)


BySuper().train(data, steps=2)
told("super")
ByName().train(data, steps=2)
told("name")
made = learn.Estimator(model_fn=old, config=learn.RunConfig())
learn.Experiment(made, data, data, train_steps=2, eval_steps=1).train_and_evaluate()
told("experiment")
learn.LinearClassifier(feature_columns=[tf.contrib.layers.real_valued_column("x")]).fit(input_fn=data, steps=2)
told("linear")
model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
model.compile("sgd", "mse")
del plain[:]
tf.keras.estimator.model_to_estimator(model).train(lambda: (tf.constant([[1.0]]), tf.constant([[0.0]])), steps=2)
told("keras")
"""
NAMES = ("super", "name", "experiment", "linear", "keras")


def test_positions_are_those_of_the_signatures() -> None:
    python = python_with("1.15")
    done = subprocess.run(
        [python, "-W", "ignore", "-c", POSITIONS, json.dumps(sorted(CONFIG_AT))],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("FOUND "))[6:])
    missing = set(CONFIG_AT) - set(found)
    assert missing <= {"tf.estimator.tpu.TPUEstimator"}, "a name that 1.15 does not have"
    assert found == {name: at for name, at in CONFIG_AT.items() if name in found}


def test_every_session_is_the_adapters(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(output(PROGRAM, tensorflow="1", unsafe=True))
    after = simulate("1.15", program)
    assert after.code == 0, after.err
    assert [f"{name} NPU" for name in NAMES] == [one for one in after.out.splitlines() if one.split(" ")[0] in NAMES]
    # With the import alone, the configurations have nothing of it.
    program.write_text("import npu_bridge.npu_init\n" + PROGRAM)
    imported = simulate("1.15", program)
    assert [one for one in imported.out.splitlines() if one.split(" ")[0] in NAMES] == [f"{one} PLAIN" for one in NAMES]
    before = subprocess.run(
        [python_with("1.15"), "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=200
    )
    assert [f"{name} PLAIN" for name in NAMES] == before.stdout.splitlines()
