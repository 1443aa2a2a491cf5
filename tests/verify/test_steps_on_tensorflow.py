"""The acceptance of TensorFlow programs. What needs a TensorFlow is skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.distribute.convert import ConversionOptions, distribute
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.verify.steps.model import Status
from npuify.verify.steps.run import accept
from npuify.verify.steps.tensorflow import chosen, is_asked_for
from tests.simulator.tensorflow.conftest import python_with

FIRST = """
import os
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
y = tf.reduce_sum(x, 1, keepdims=True)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    if os.path.exists("model.ckpt.index"):
        saver.restore(sess, "./model.ckpt")
    for step in range(12):
        value, _ = sess.run([loss, train], {x: np.random.rand(8, 4)})
        print("step", step, "loss", value)
    saver.save(sess, "./model.ckpt")
"""
SECOND = """
import tensorflow as tf

x = tf.random.uniform([64, 4])
data = tf.data.Dataset.from_tensor_slices((x, tf.reduce_sum(x, 1, keepdims=True))).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
if __name__ == "__main__":
    model.fit(data, epochs=12, verbose=2)
"""

_GELU = """import tensorflow as tf


def gelu(x):
    cdf = 0.5 * (1.0 + tf.tanh((np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3)))))
    return x * cdf
"""
_DROPPED = "tf.layers.dropout(tf.nn.dropout(gelu(x), rate=1 - 0.7), 0.2, training=True)"
FUSED = FIRST.replace("import tensorflow as tf\n", _GELU).replace("dense(x, 1)", f"dense({_DROPPED}, 1)")
"""Operators are taken away and added, which must not change what the others draw."""


def project(folder: Path, text: str) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / "train.py").write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "entry", "answer"),
    [
        ({"train.py": FIRST}, "", True),
        ({"train.py": "import torch\n"}, "", False),
        ({"train.py": FIRST, "other.py": "import torch\n"}, "", False),
        ({"train.py": FIRST, "other.py": "import torch\n"}, "train.py --steps 2", True),
        ({"train.py": FIRST, "other.py": "import torch\n"}, "other.py", False),
        ({"pkg/train.py": SECOND}, "-m pkg.train", True),
        ({"train.py": FIRST}, "missing.py", False),
        ({"train.py": FIRST}, 'train.py "', False),
        ({"notes.py": "x = 1\n"}, "", False),
    ],
)
def test_which_programs_are_tensorflows(files: dict[str, str], entry: str, answer: bool, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert is_asked_for(tmp_path, entry) is answer


@pytest.mark.thorough
def test_a_capture_is_no_reference_for_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="--reference has no meaning"):
        chosen(python_with("1.15"), "auto", tmp_path)


@pytest.mark.thorough
def test_a_program_without_keras_is_judged_by_its_losses(tmp_path: Path) -> None:
    text = """import tensorflow as tf

w = tf.Variable(tf.zeros([4, 1]))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - 1.0) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


if __name__ == "__main__":
    for _ in range(12):
        print("loss", float(step(tf.random.uniform([8, 4]))))
"""
    steps = {one.name: one for one in accept(project(tmp_path, text), python=python_with("2.6")).steps}
    assert {steps[name].status for name in ("forward", "backward", "compare")} == {Status.NOT_RUN}
    assert "No call of a Keras layer" in steps["forward"].message
    assert steps["loss"].status is Status.PASSED


@pytest.mark.thorough
@pytest.mark.parametrize(("version", "text"), [("1.15", FIRST), ("2.6", SECOND)])
def test_the_losses_of_both_programs_are_compared(version: str, text: str, tmp_path: Path) -> None:
    report = accept(project(tmp_path, text), python=python_with(version))
    steps = {one.name: one for one in report.steps}
    assert steps["iterations"].status is steps["loss"].status is Status.PASSED
    wanted = Status.PASSED if version == "2.6" else Status.NOT_RUN
    assert {steps[name].status for name in ("forward", "backward", "compare")} == {wanted}
    assert steps["cards"].status is Status.NOT_RUN
    assert "npuify distribute" in steps["cards"].advice
    assert report.devices.tensorflow.startswith(version)


@pytest.mark.thorough
def test_operators_in_one_piece_draw_what_the_originals_draw(tmp_path: Path) -> None:
    source = project(tmp_path, FUSED)
    npuify.migrate(source, tmp_path / "out", Options(unsafe=True, jobs=1, cache=False, tf_adapter="1.15"))
    out = (tmp_path / "out" / "train.py").read_text()
    assert "npu_ops.dropout(gelu(x), keep_prob=1.0 - (1 - 0.7))" in out
    assert "npu_unary_ops.gelu(x)" in out
    assert "npu_convert_dropout" in out
    report = accept(source, migrated=tmp_path / "out", python=python_with("1.15"))
    assert {one.name: one for one in report.steps}["loss"].status is Status.PASSED


@pytest.mark.thorough
@pytest.mark.parametrize(("version", "text"), [("1.15", FIRST), ("2.6", SECOND)])
def test_a_converted_program_trains_on_two_cards(version: str, text: str, tmp_path: Path) -> None:
    source = project(tmp_path, text)
    options = Options(unsafe=True, jobs=1, cache=False, tf_adapter="1.15" if version == "1.15" else "2.6.5")
    distribute(source, tmp_path / "many", ConversionOptions(entry="train.py"), options)
    steps = {one.name: one for one in accept(source, migrated=tmp_path / "many", python=python_with(version)).steps}
    assert steps["loss"].status is Status.PASSED
    assert steps["cards"].status is Status.PASSED
    assert any("allreduce" in one and "broadcast" in one for one in steps["cards"].evidence)


@pytest.mark.thorough
def test_a_wrong_loss_and_processes_that_train_apart_are_seen(tmp_path: Path) -> None:
    source = project(tmp_path, FIRST)
    npuify.migrate(source, tmp_path / "out", Options(unsafe=True, jobs=1, cache=False))
    text = (tmp_path / "out" / "train.py").read_text().replace("(0.1)", "(0.2)")
    (tmp_path / "out" / "train.py").write_text(text)
    report = accept(
        source, migrated=tmp_path / "out", python=python_with("1.15"), cards_entry="train.py", resume="train.py"
    )
    steps = {one.name: one for one in report.steps}
    assert steps["loss"].status is Status.FAILED
    assert steps["cards"].status is Status.FAILED
    assert "nothing was reduced" in steps["cards"].evidence[0]
    assert steps["resume"].status is Status.PASSED


@pytest.mark.thorough
def test_port_takes_a_program_the_whole_way(tmp_path: Path) -> None:
    from npuify.port.model import PortOptions, State
    from npuify.port.way import port

    source = project(tmp_path, FIRST)
    asked = PortOptions(entry="train.py", python=python_with("1.15"), unsafe=True)
    report = port(source, tmp_path / "out", Options(unsafe=True, jobs=1, cache=False), asked)
    states = {one.name: one.state for one in report.stages}
    assert states["run"] is states["compare"] is states["handover"] is State.DONE
