"""Estimators by every way in which a program makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Safety, Severity

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import tensorflow as tf\n\n"
CLASS = "class Mine(tf.estimator.Estimator):\n    pass\n\n\n"
EXPERIMENT = "from tensorflow.contrib import learn\n\nlearn.Experiment(made, train_input_fn=d, eval_input_fn=d)\n"


def told(text: str) -> list[tuple[Safety, Severity]]:
    return [(one.safety, one.severity) for one in findings(text, tensorflow="1") if one.code == "NPU906"]


@pytest.mark.parametrize(
    "call",
    [
        "tf.estimator.Estimator(f, 'm', c)",
        "tf.contrib.tpu.TPUEstimator(f, 'm', c, use_tpu=False)",
        "tf.contrib.learn.Estimator(f, 'm', c)",
        "tf.keras.estimator.model_to_estimator(m, None, None, 'm', c)",
        "tf.contrib.learn.LogisticRegressor(f, None, 'm', c)",
    ],
)
def test_a_configuration_by_position_is_not_given_twice(call: str) -> None:
    out = output(HEAD + call + "\n", tensorflow="1", unsafe=True)
    assert out.count("npu_run_config_init(run_config=c)") == 1
    assert "config=npu" not in out
    assert told(out) == []


def test_super_means_the_class_around_it() -> None:
    text = (
        "class Layer(tf.keras.layers.Layer):\n    def __init__(self):\n        super().__init__(config=None)\n\n\n"
        "class Mine(tf.estimator.Estimator):\n    def __init__(self):\n        super().__init__(f, config=None)\n"
    )
    out = output(HEAD + text, tensorflow="1")
    assert "super().__init__(config=None)" in out
    assert "super().__init__(f, config=npu_run_config_init())" in out


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("", 1),
        ("Mine(f, config=npu_run_config_init())\n", 0),
        ("isinstance(x, Mine)\n", 1),
    ],
)
def test_a_class_that_leaves_its_arguments_to_others(made: str, count: int) -> None:
    assert told(HEAD + CLASS + made) == [(Safety.MANUAL, Severity.ERROR)] * count


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("Mine(f)", "Mine(f, config=npu_run_config_init())"),
        ("Mine(f, 'm', c)", "Mine(f, 'm', npu_run_config_init(run_config=c))"),
        ("Mine(f, config=c)", "Mine(f, config=npu_run_config_init(run_config=c))"),
    ],
)
def test_a_class_that_leaves_its_arguments_to_others_is_edited_where_it_is_made(
    made: str, after: str, tmp_path: Path
) -> None:
    assert after in output(HEAD + CLASS + made + "\n", tensorflow="1")
    for name, count in (("MyEstimator", 0), ("Mine", 1)):
        # Without a word of its own the call is not looked at, and the class is told.
        own = HEAD + CLASS.replace("Mine", name)
        (tmp_path / "mine.py").write_text(own)
        text = f"{HEAD}import mine\n\n\ne = mine.{made.replace('Mine', name)}\n"
        (tmp_path / "train.py").write_text(text)
        found = findings(own, root=tmp_path, name="mine.py", tensorflow="1")
        assert [(one.code, one.safety) for one in found] == [("NPU906", Safety.MANUAL)] * count
        if not count:
            there = output(text, root=tmp_path, name="train.py", tensorflow="1")
            assert f"e = mine.{after.replace('Mine', name)}\n" in there


def test_a_class_with_arguments_of_its_own_is_edited_inside_only() -> None:
    text = (
        CLASS.replace("    pass\n", "    def __init__(self, p):\n        super().__init__(f, params=p)\n")
        + "e = Mine(1)\n"
    )
    out = output(HEAD + text, tensorflow="1")
    assert "super().__init__(f, params=p, config=npu_run_config_init())" in out
    assert "e = Mine(1)\n" in out


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("", 1),
        ("made = learn.Estimator(f, config=npu_run_config_init())\n", 0),
        ("made = NPUEstimator(f, config=c)\n", 0),
    ],
)
def test_an_experiment_wants_its_estimator_in_sight(made: str, count: int) -> None:
    assert told(EXPERIMENT + made) == [(Safety.MANUAL, Severity.WARNING)] * count


@pytest.mark.parametrize("tensorflow", ["2", ""])
def test_another_line_is_told(tensorflow: str) -> None:
    text = "import tensorflow as tf\n\ntf.keras.estimator.model_to_estimator(model)\n"
    found = [one for one in findings(text, tensorflow=tensorflow) if one.code == "NPU906"]
    assert [one.safety for one in found] == [Safety.MANUAL]
    assert "npu_run_config_init" in found[0].advice


def test_servers_whose_estimator_is_made_elsewhere_are_told_at_the_configuration() -> None:
    text = "tf.placeholder(tf.float32)\nstart(tf.estimator.RunConfig(model_dir='o', train_distribute=s))\n"
    text = "import tensorflow as tf\n\ns = tf.distribute.experimental.ParameterServerStrategy()\n" + text
    assert [one.code for one in findings(text, tensorflow="1") if one.code in ("NPU906", "NPU907")] == ["NPU907"]
