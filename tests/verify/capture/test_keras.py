"""Captures of programs on TensorFlow 2.6, and what a comparison of them finds. Skipped where there is no TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuify.model import NpuifyError
from npuify.verify.capture.launch import Captured, capture
from npuify.verify.capture.settings import Settings
from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.result import Refused
from tests.simulator.tensorflow.conftest import python_with

OPENED = "import npu_device\nnpu_device.open().as_default()\n"
FIT = """import numpy as np
import tensorflow as tf
NPU
x = np.random.rand(64, 8).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).shuffle(64).batch(16, drop_remainder=True)
given = tf.keras.Input((8,))
h = tf.keras.layers.Dense(16, activation="relu")(given)
h = tf.keras.layers.Dropout(0.5)(tf.keras.layers.BatchNormalization()(h)) * SCALE
model = tf.keras.Model(given, tf.keras.layers.Dense(1)(h))
model.compile(tf.keras.optimizers.Adam(0.01), "mse", steps_per_execution=2)
if __name__ == "__main__":
    model.fit(data, epochs=3, verbose=0)
    raise RuntimeError("the steps were enough")
"""
LOOP = """import tensorflow as tf
NPU
tf.random.set_seed(3)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(8, activation="tanh") for _ in range(2)]
        self.rnn = tf.keras.layers.LSTM(4, dropout=0.2)
        self.out = tf.keras.layers.Dense(2)
        self.scale = tf.Variable(1.0)

    @tf.function
    def embed(self, x):
        for layer in self.hidden:
            x = tf.nn.dropout(layer(x), 0.3)
        return x

    def call(self, x, training=False):
        return self.out(self.rnn(self.embed(x))) * self.scale


model = Net()
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
x = tf.random.normal([32, 5, 6])
data = tf.data.Dataset.from_tensor_slices((x, tf.reduce_sum(x[:, 0, :2], 1, keepdims=True))).batch(8)


DECORATOR
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


if __name__ == "__main__":
    for x, y in data:
        step(x, y)
"""
pytestmark = pytest.mark.thorough


def fit(scale: str = "1.0", opened: bool = False) -> str:
    return FIT.replace("SCALE", scale).replace("NPU\n", OPENED if opened else "")


def loop(decorator: str, opened: bool = False) -> str:
    return LOOP.replace("DECORATOR", decorator).replace("NPU\n", OPENED if opened else "")


def captured(folder: Path, text: str, device: str, **settings: object) -> Captured:
    folder.mkdir()
    (folder / "train.py").write_text(text)
    given = Settings(**settings)  # type: ignore[arg-type]
    python = python_with("2.6")
    return capture([str(folder / "train.py")], folder / "captured", given, device=device, python=python)


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "captured" / "rank0" / "records.jsonl").read_text().splitlines()]


def test_a_model_that_is_fitted_computes_the_same_on_a_simulated_npu(tmp_path: Path) -> None:
    done = captured(tmp_path / "a", fit(), "cpu")
    assert (done.steps, done.code, done.ranks) == (2, 0, 1)
    captured(tmp_path / "b", fit(opened=True), "simulated")
    result = compare(tmp_path / "a" / "captured", tmp_path / "b" / "captured")
    assert result.agrees
    assert (result.a.device, result.b.device) == ("cpu", "simulated npu")
    assert result.a.tensorflow.startswith("2.6.")
    assert result.matched == 12
    assert [one.step for one in result.losses] == [0, 1]
    found = records(tmp_path / "a")
    names = {str(one["name"]) for one in found if one["event"] == "value" and one.get("when") == "start"}
    assert {"Functional.dense.kernel", "Functional.batch_normalization.moving_mean"} <= names
    gradients = [str(one["name"]) for one in found if one.get("when") == "backward"]
    assert gradients.index("Functional.dense_1.kernel") < gradients.index("Functional.dense.kernel")
    settings = next(one for one in found if one["event"] == "optimizer")["groups"][0]["settings"]  # type: ignore[index]
    assert settings["learning_rate"] == pytest.approx(0.01)


def test_a_fault_is_found_where_it_is(tmp_path: Path) -> None:
    captured(tmp_path / "a", fit(), "cpu")
    captured(tmp_path / "b", fit("1.01", opened=True), "simulated")
    result = compare(tmp_path / "a" / "captured", tmp_path / "b" / "captured")
    assert not result.agrees
    assert result.first is not None
    assert result.first.name == "Functional.tf.math.multiply"
    assert result.first.metrics is not None
    assert result.first.metrics.ratio == pytest.approx(1.01, rel=1e-3)


def test_a_loop_with_functions_in_functions_is_followed(tmp_path: Path) -> None:
    captured(tmp_path / "a", loop("@tf.function"), "cpu", steps=3)
    captured(tmp_path / "b", loop("@tf.function", opened=True), "simulated", steps=3)
    result = compare(tmp_path / "a" / "captured", tmp_path / "b" / "captured")
    assert result.agrees
    assert len(result.losses) == 3
    calls = [one for one in records(tmp_path / "b") if one["event"] == "call" and one["step"] == 2]
    assert {str(one["name"]) for one in calls} == {
        *("Net", "Net.lstm", "Net.dense_2"),
        *("Net.dense", "Net.dense_1"),
    }
    assert {one["device"] for call in calls for one in call["outputs"]} == {"npu"}  # type: ignore[attr-defined]


def test_a_step_outside_of_functions_runs_on_the_host_and_proves_nothing(tmp_path: Path) -> None:
    text = loop("").replace("    @tf.function\n", "")
    captured(tmp_path / "a", text, "cpu")
    opened = loop("", opened=True).replace("    @tf.function\n", "")
    captured(tmp_path / "b", opened, "simulated")
    with pytest.raises(Refused, match="both ran on cpu") as refused:
        compare(tmp_path / "a" / "captured", tmp_path / "b" / "captured")
    assert "tf.function" in refused.value.advice


def test_a_program_without_keras_says_so(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="called no Keras layer"):
        captured(tmp_path / "a", "import tensorflow as tf\nprint(tf.constant(1) + 1)\n", "cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"level": "operator"}, "operators of a TensorFlow program"), ({"dropout": "same"}, "draws no masks")],
)
def test_what_there_is_not(settings: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match=message):
        captured(tmp_path / "a", fit(), "cpu", **settings)


def test_other_versions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(fit())
    with pytest.raises(NpuifyError, match=r"2\.6 are captured") as refused:
        capture([str(tmp_path / "train.py")], tmp_path / "captured", Settings(), python=python_with("1.15"))
    assert "npuify verify steps" in refused.value.advice
