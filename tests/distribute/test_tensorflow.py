"""TensorFlow programs from one card to many: the text that is written, what is left, and that two ranks compute what one does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from npuify.distribute.convert import ConversionOptions, distribute
from npuify.options import Options
from tests.simulator.tensorflow.conftest import simulate

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import MigrationResult

DATA = """import os
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
X = rng.randn(64, 4).astype("float32")
Y = (X @ np.array([[1.0], [2.0], [3.0], [4.0]])).astype("float32")
BATCH = int(os.environ.get("BATCH", "16"))
"""
FIRST = (
    DATA
    + """
ds = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(BATCH)
x, y = ds.make_one_shot_iterator().get_next()
w = tf.get_variable("w", [4, 1], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
total = tf.reduce_mean(tf.square(tf.matmul(X, w) - Y))
init = tf.global_variables_initializer()
with tf.Session() as sess:
    sess.run(init)
    for i in range(20):
        sess.run(step)
    print("LOSS %.4f" % sess.run(total))
"""
)
THROUGH_FUNCTIONS = (
    DATA
    + """

def load():
    train = tf.data.Dataset.from_tensor_slices((X, Y))
    test = tf.data.Dataset.from_tensor_slices((X, Y))
    return train, test


train_ds, test_ds = load()
train_ds = train_ds.batch(BATCH)
test_ds = test_ds.batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def train(model, optimizer, dataset):
    for x, y in dataset:
        train_step(model, optimizer, x, y)


for epoch in range(5):
    train(model, optimizer, train_ds)
print("LOSS %.4f" % tf.reduce_mean(tf.square(model(X) - Y)))
"""
)
SHARED = "    train = tf.data.Dataset.from_tensor_slices((X, Y)).shard(npu_device.open().workers_num, npu_device.open().worker_id)\n"
SECOND = (
    DATA
    + """


def main():
    train = tf.data.Dataset.from_tensor_slices((X, Y))
    train = train.batch(BATCH)
    test = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
    ones = tf.keras.initializers.Ones()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=ones, input_shape=(4,))])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    model.fit(train, epochs=5, verbose=0)
    print("LOSS %.4f" % model.evaluate(test, verbose=0))


if __name__ == "__main__":
    main()
"""
)


LOOP = (
    DATA
    + """

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)


def train_step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def main():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    model = Model()
    optimizer = tf.keras.optimizers.SGD(0.1)
    for epoch in range(5):
        for x, y in data:
            loss = train_step(model, optimizer, x, y)
    print("LOSS %.4f" % float(tf.reduce_mean(tf.square(model(X) - Y))))


if __name__ == "__main__":
    main()
"""
)


def converted(folder: Path, text: str, adapter: str) -> tuple[MigrationResult, str]:
    source = folder / "train.py"
    source.write_text(text)
    options = Options(tf_adapter=adapter, unsafe=True)
    result = distribute(source, folder / "out", ConversionOptions(entry="train.py"), options)
    written = folder / "out" / "train.py"
    return result, written.read_text() if written.exists() else ""


def codes(result: MigrationResult) -> list[str]:
    return [finding.code for finding in result.left if finding.code >= "NPU380"]


def test_sessions(tmp_path: Path) -> None:
    result, text = converted(tmp_path, FIRST, "1.15")
    assert "step = npu_distributed_optimizer_wrapper(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)" in text
    assert (
        "from_tensor_slices((X, Y)).shard(get_rank_size(), get_rank_id()).repeat().batch(BATCH, drop_remainder=True)"
        in text
    )
    assert (
        "    sess.run(init)\n    if int(util.get_ranksize()) > 1:\n        sess.run(npu_hook.broadcast_global_variables(0))\n"
        in text
    )
    assert text.index("npu_session, npu_shutdown = init_resource()") < text.index("ds = tf.data")
    assert codes(result) == []


def test_keras(tmp_path: Path) -> None:
    result, text = converted(tmp_path, SECOND, "2.6.5")
    wrapper = "npu_device.distribute.npu_distributed_keras_optimizer_wrapper"
    assert f"optimizer={wrapper}(tf.keras.optimizers.SGD(0.1)), loss" in text
    assert "train = train.batch(BATCH, drop_remainder=True)" in text
    assert "npu_device.distribute.broadcast(model.trainable_variables, root_rank=0)\n    model.fit(" in text
    assert "test = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)\n" in text, "data to evaluate on stays whole"
    assert codes(result) == ["NPU387"], "that data is told of"


def test_a_loop_of_its_own(tmp_path: Path) -> None:
    result, text = converted(tmp_path, LOOP, "2.6.5")
    assert "\n@tf.function\ndef train_step(" in text
    assert "npu_distributed_keras_optimizer_wrapper(tf.keras.optimizers.SGD(0.1))\n" in text
    assert "    npu_variables_sent = False\n    for epoch in range(5):\n" in text
    assert (
        "            if not npu_variables_sent:\n"
        "                npu_device.distribute.broadcast(model.trainable_variables, root_rank=0)\n"
        "                npu_variables_sent = True\n"
    ) in text
    assert ".batch(BATCH, drop_remainder=True)" in text
    assert codes(result) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "model = Model()",
            "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])",
            "    npu_device.distribute.broadcast(model.trainable_variables, root_rank=0)\n    for epoch in range(5):",
        ),
        ("    return loss", "    print(loss.numpy())\n    return loss", "was not made a graph: line"),
        ("    return loss", "    losses[0] = loss\n    return loss", "changes an object"),
        (
            "train_step(model, optimizer, x, y)\n    print",
            "train_step(model, optimizer, x, epoch)\n    print",
            "a graph would be made for each",
        ),
        ("def train_step(", "@tf.function\ndef train_step(", "@tf.function\ndef train_step("),
        ("def train_step(", "@timed\ndef train_step(", "it has a decorator"),
        (
            "for x, y in data:",
            "for x, y in data.take(3):",
            "through .take()",
        ),
    ],
)
def test_loops_that_are_left(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in LOOP
    result, written = converted(tmp_path, LOOP.replace(old, new), "2.6.5")
    everything = written + "".join(f"{finding.message} {finding.advice}" for finding in result.left)
    assert said in everything, everything
    assert written.count("@tf.function") <= 1


@pytest.mark.parametrize(
    ("old", "new", "adapter", "said"),
    [
        ("optimizer=tf.keras.optimizers.SGD(0.1)", 'optimizer="sgd"', "2.6.5", "wrapper('sgd')|wrapper(\"sgd\")"),
        (
            "train = train.batch(BATCH)",
            "train = train.take(32).batch(BATCH)",
            "2.6.5",
            "train.take(32).shard(npu_device",
        ),
        ("train = train.batch(BATCH)", "train = train.shuffle(9).take(32).batch(BATCH)", "2.6.5", "through .take()"),
        ("train = train.batch(BATCH)", "train = train.batch(BATCH).take(2)", "2.6.5", "through .take()"),
        ("train = train.batch(BATCH)", "train = train.skip(8).take(32).batch(BATCH)", "2.6.5", "take(32).shard("),
        (
            "train = train.batch(BATCH)",
            "few = train.take(8)\n    train = train.skip(8).batch(BATCH)",
            "2.6.5",
            "through .take()",
        ),
        (
            "train = train.batch(BATCH)",
            "if BATCH:\n        train = train.take(8)\n    train = train.batch(BATCH)",
            "2.6.5",
            "through .take()",
        ),
        ("model.fit(train,", "model.fit(X, Y,", "2.6.5", "fit() is given arrays"),
        ("model.fit(train,", "model.fit(data['train'],", "2.6.5", "where the data of fit() comes from is not known"),
        ("model.fit(train,", "model.fit(x=data['train'],", "2.6.5", "where the data of fit() comes from is not known"),
        (
            "optimizer=tf.keras.optimizers.SGD(0.1)",
            "optimizer=__import__('os') and tf.keras.optimizers.SGD(0.1)",
            "2.6.5",
            "and npu_device.distribute.npu_distributed_keras_optimizer_wrapper(tf.keras.optimizers.SGD(0.1))",
        ),
        (
            "with tf.Session() as sess:\n    sess.run(init)",
            "with tf.train.MonitoredTrainingSession(hooks=own) as sess:",
            "1.15",
            "hooks=npu_hooks_append(list(own or []))",
        ),
        (
            "init = tf.global",
            "e = tf.estimator.Estimator(model_fn)\ne.train(input_fn, steps=3)\ninit = tf.global",
            "1.15",
            "e.train(input_fn, steps=3, hooks=npu_hooks_append())",
        ),
        (", input_shape=(4,)", "", "2.6.5", "whether model has its variables before fit() is not known"),
        (
            "    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=ones, input_shape=(4,))])\n",
            "    strategy = tf.distribute.OneDeviceStrategy('/cpu:0')\n    with strategy.scope():\n        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n",
            "2.6.5",
            "build it under with strategy.scope(): as it is made there, then npu_device.distribute.broadcast",
        ),
        (".minimize(loss)", ".apply_gradients(zip(tf.gradients(loss, [w]), [w]))", "1.15", "not these gradients"),
        (
            "import tensorflow as tf",
            "import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()",
            "2.6.5",
            "already",
        ),
        (
            "    ones =",
            "    s = tf.distribute.MultiWorkerMirroredStrategy()\n    ones =",
            "2.6.5",
            "for several cards already",
        ),
    ],
)
def test_what_is_done_or_left(tmp_path: Path, old: str, new: str, adapter: str, said: str) -> None:
    text = FIRST if adapter == "1.15" else SECOND
    assert old in text
    result, written = converted(tmp_path, text.replace(old, new), adapter)
    everything = written + "".join(f"{finding.message} {finding.advice}" for finding in result.left)
    assert any(one in everything for one in said.split("|")), everything


@pytest.mark.parametrize("base", ["", "(object)", "(tf.keras.Model)"])
def test_the_fit_of_a_class_of_its_own_is_none_of_keras(tmp_path: Path, base: str) -> None:
    own = f"class Scaler{base}:\n    def fit(self, data):\n        self.mean = np.mean(data)\n\n\nscaler = Scaler()\nscaler.fit([1.0, 2.0])\n"
    text = SECOND.replace("\n\ndef main", f"\n\n{own}\n\ndef main", 1)
    assert own in text
    result, written = converted(tmp_path, text, "2.6.5")
    assert own in written
    told = [one.message for one in result.left if "scaler" in one.message]
    assert bool(told) is (base == "(tf.keras.Model)")


def test_optimizers_of_tensorflow_addons_average_too(tmp_path: Path) -> None:
    text = SECOND.replace("import tensorflow as tf", "import tensorflow as tf\nimport tensorflow_addons as tfa")
    text = text.replace("tf.keras.optimizers.SGD(0.1)", "tfa.optimizers.Lookahead(tfa.optimizers.AdamW(1e-4, 0.1))")
    _, written = converted(tmp_path, text, "2.6.5")
    wrapper = "npu_device.distribute.npu_distributed_keras_optimizer_wrapper"
    assert f"tfa.optimizers.Lookahead({wrapper}(tfa.optimizers.AdamW(1e-4, 0.1)))" in written


def test_a_step_in_no_function_is_told(tmp_path: Path) -> None:
    step = """
model = Model()
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    result, _ = converted(tmp_path, LOOP[: LOOP.index("def train_step")] + step, "2.6.5")
    assert any("in no function" in one.message for one in result.left if one.code == "NPU385")
    (tmp_path / "other").mkdir()
    result, _ = converted(tmp_path / "other", LOOP, "2.6.5")
    assert not any("in no function" in one.message for one in result.left)


@pytest.mark.parametrize(
    "made",
    ["tf.estimator.inputs.numpy_input_fn(x=X, y=Y)", "tf.train.string_input_producer(names)", "tf.compat.v1.train.slice_input_producer(X)"],
)  # fmt: skip
def test_data_that_is_no_dataset_is_told(tmp_path: Path, made: str) -> None:
    text = f"import tensorflow as tf\ninput_fn = {made}\ne = tf.estimator.Estimator(model_fn)\ne.train(input_fn, steps=3)\n"
    result, _ = converted(tmp_path, text, "1.15")
    assert any("the same on every card" in one.message for one in result.left if one.code == "NPU387")


def test_a_program_that_does_not_open_the_npu_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text(SECOND)
    options = Options(tf_adapter="2.6.5")
    result = distribute(source, tmp_path / "out", ConversionOptions(entry="train.py"), options)
    assert "NPU398" in codes(result)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "adapter", "code"),
    [
        ("import tensorflow as tf\n@tf.function\ndef f(x):\n    return x\nf(tf.zeros([2]))\n", "2.6.5", "NPU395"),
        ("import tensorflow as tf\nwith tf.Session() as s:\n    print(s.run(tf.ones([2])))\n", "1.15", "NPU395"),
        # Who trains is not seen: an optimizer may come from anywhere, so it is asked for.
        ("import tensorflow as tf\nimport mine\nwith tf.Session() as s:\n    mine.train(s)\n", "1.15", "NPU385"),
        ("import tensorflow as tf\nimport zoo\nwith tf.Session() as s:\n    zoo.net().minimize(s)\n", "1.15", "NPU385"),
    ],
)
def test_a_program_that_trains_nothing_is_told_so(tmp_path: Path, text: str, adapter: str, code: str) -> None:
    result, _ = converted(tmp_path, text, adapter)
    assert code in codes(result)
    assert ("NPU395" in codes(result)) == (code == "NPU395")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("version", "adapter", "text"),
    [
        ("1.15", "1.15", FIRST),
        ("2.6", "2.6.5", SECOND),
        ("2.12", "2.6.5", SECOND),
        ("2.6", "2.6.5", LOOP),
        ("2.6", "2.6.5", THROUGH_FUNCTIONS),
    ],
)
def test_two_ranks_compute_what_the_original_does(tmp_path: Path, version: str, adapter: str, text: str) -> None:
    converted(tmp_path, text, adapter)
    before = simulate(version, tmp_path / "train.py", environment={"BATCH": "16"})
    after = simulate(version, tmp_path / "out" / "train.py", "--ranks", "2", environment={"BATCH": "8"})
    assert (before.code, after.code) == (0, 0), before.err + after.err
    # Two processes write to one pipe: a line's end may come behind the other's line.
    assert re.findall(r"LOSS \d+\.\d{4}", after.out) == re.findall(r"LOSS \d+\.\d{4}", before.out) * 2
    assert "note: nothing was reduced" not in after.err


def test_data_comes_through_functions(tmp_path: Path) -> None:
    result, text = converted(tmp_path, THROUGH_FUNCTIONS, "2.6.5")
    assert SHARED in text
    assert "train_ds = train_ds.batch(BATCH, drop_remainder=True)\n" in text
    assert "    test = tf.data.Dataset.from_tensor_slices((X, Y))\n" in text
    assert "test_ds = test_ds.batch(10)\n" in text
    assert codes(result) == ["NPU387"], "the data that is not trained on is told of"


@pytest.mark.parametrize(
    ("old", "new", "shared"),
    [
        ("train_ds = train_ds.batch(BATCH)", "train_ds = train_ds.take(32).batch(BATCH)", False),
        ("train_ds, test_ds = load()", "train_ds, test_ds = load()\nother, more = load()", False),
        ("    return train, test", "    if BATCH:\n        return train, test\n    return test, train", False),
        ("train(model, optimizer, train_ds)", "train(model, optimizer, dataset=train_ds)", True),
        ("    return train, test", "    return train.batch(BATCH), test", True),
    ],
)
def test_what_may_be_other_data_as_well_is_left(tmp_path: Path, old: str, new: str, shared: bool) -> None:
    assert old in THROUGH_FUNCTIONS
    result, text = converted(tmp_path, THROUGH_FUNCTIONS.replace(old, new), "2.6.5")
    assert (SHARED in text) == shared
    assert "NPU387" in codes(result)
    if "return train.batch" in new:
        assert "return train.batch(BATCH, drop_remainder=True), test\n" in text


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("tf.train.Checkpoint(model=model).save('c')", False),
        ("saver = tf.train.Checkpoint(model=model)\nsaver.save('c')", True),
        ("tf.saved_model.save(model, 'm')", True),
        ("model.save_weights('w')", True),
        ("import shutil\nshutil.rmtree('x')", True),
        ("tf.io.gfile.rmtree('x')", True),
        ("if npu_device.open().worker_id == 0:\n    model.save_weights('w')", False),
        ("session.save('x')", False),
    ],
)
def test_what_all_ranks_would_write_is_told(tmp_path: Path, written: str, told: bool) -> None:
    result, _ = converted(tmp_path, f"{THROUGH_FUNCTIONS}\n{written}\n", "2.6.5")
    assert ("NPU388" in codes(result)) == told


MADE_ELSEWHERE = """import tensorflow as tf


def made():
    ones = tf.keras.initializers.Ones()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=ones, input_shape=(4,))])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    return model
"""


def in_two_files(folder: Path) -> str:
    """A program whose optimizer is made in a module of its own; what becomes of the module."""
    start = SECOND.index("    ones =")
    program = SECOND[:start] + "    model = made()\n" + SECOND[SECOND.index("    model.fit(") :]
    source = folder / "in"
    source.mkdir()
    (source / "train.py").write_text(
        program.replace("import tensorflow as tf\n", "import tensorflow as tf\nfrom making import made\n")
    )
    (source / "making.py").write_text(MADE_ELSEWHERE)
    distribute(source, folder / "out", ConversionOptions(entry="train.py"), Options(tf_adapter="2.6.5", unsafe=True))
    return (folder / "out" / "making.py").read_text()


def test_a_module_with_the_optimizer_imports_the_adapter(tmp_path: Path) -> None:
    text = in_two_files(tmp_path)
    assert "optimizer=npu_device.distribute.npu_distributed_keras_optimizer_wrapper(tf.keras" in text
    assert "import tensorflow as tf\nimport npu_device\n" in text
    assert text.count("import npu_device") == 1


@pytest.mark.thorough
def test_two_ranks_of_a_program_in_two_files(tmp_path: Path) -> None:
    in_two_files(tmp_path)
    before = simulate("2.6", tmp_path / "in" / "train.py", environment={"BATCH": "16"})
    after = simulate("2.6", tmp_path / "out" / "train.py", "--ranks", "2", environment={"BATCH": "8"})
    assert (before.code, after.code) == (0, 0), before.err + after.err
    assert re.findall(r"LOSS \d+\.\d{4}", after.out) == re.findall(r"LOSS \d+\.\d{4}", before.out) * 2
    assert "note: nothing was reduced" not in after.err
