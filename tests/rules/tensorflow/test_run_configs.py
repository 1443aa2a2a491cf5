"""RunConfig as NPURunConfig, where parameter servers need it, and estimators of TPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.model import Safety, Severity
from npuify.options import Options

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import tensorflow as tf\n\nx = tf.placeholder(tf.float32)\ns = tf.distribute.experimental.ParameterServerStrategy()\n"


def written(config: str, estimator: str = "tf.estimator.Estimator(model_fn=m, config=c)") -> str:
    text = f"{HEAD}c = tf.estimator.RunConfig({config})\ne = {estimator}\n"
    return output(text, tensorflow="1", unsafe=True)


def test_parameter_servers_take_the_adapters_own_kind() -> None:
    out = written("model_dir='o', train_distribute=s, eval_distribute=s, save_checkpoints_steps=5")
    assert (
        "c = NPURunConfig(model_dir='o', distribute=s, save_checkpoints_steps=5, "
        "mix_compile_mode=True, iterations_per_loop=1, save_summary_steps=100)\n"
    ) in out
    assert "e = NPUEstimator(model_fn=m, config=c)\n" in out
    assert "from npu_bridge.npu_init import NPUEstimator, NPURunConfig\n" in out
    assert not [one.code for one in findings(out, tensorflow="1")], "nothing is left"
    assert output(out, tensorflow="1", unsafe=True) == out


def test_summaries_keep_what_is_said_of_them() -> None:
    assert "save_summary_steps=7, mix_compile_mode=True, iterations_per_loop=1)" in written(
        "train_distribute=s, save_summary_steps=7"
    )


@pytest.mark.parametrize(
    ("config", "estimator"),
    [
        ("'o', 1, 100, 50, 60, train_distribute=s", ""),
        ("'o', # here\n 1, train_distribute=s", ""),
        ("train_distribute=s", "tf.estimator.Estimator(m, None, c, None, warm)"),
        ("train_distribute=s", "tf.estimator.Estimator(m, config=c, other=1)"),
        ("train_distribute=s, **more", ""),
        ("train_distribute=s, save_checkpoints_secs=60", ""),
        ("train_distribute=s, device_fn=d", ""),
        ("train_distribute=s, eval_distribute=other", ""),
        ("train_distribute=s", "tf.estimator.Estimator(model_fn=m, config=c)\nprint(c.model_dir)"),
    ],
)
def test_what_has_no_counterpart_is_told(config: str, estimator: str) -> None:
    out = written(config, estimator or "tf.estimator.Estimator(model_fn=m, config=c)")
    assert f"RunConfig({config})" in out
    assert "NPU" not in out
    found = [one for one in findings(out, tensorflow="1") if one.code == "NPU906"]
    assert [one.safety for one in found] == [Safety.MANUAL]
    assert "by keyword" in found[0].advice


@pytest.mark.parametrize(
    ("given", "after"),
    [
        (", use_tpu=True", ", use_tpu=False"),
        (", use_tpu=flag", ", use_tpu=flag"),
        ("", ", use_tpu=False"),
        (", **more", ", **more"),
    ],
)
def test_an_estimator_of_tpus_is_one_without_them(given: str, after: str) -> None:
    text = f"import tensorflow as tf\n\ne = tf.contrib.tpu.TPUEstimator(m, config=c{given})\n"
    assert f"TPUEstimator(m, config=npu_run_config_init(run_config=c){after})" in output(
        text, tensorflow="1", unsafe=True
    )


def test_what_is_given_by_position_is_named() -> None:
    out = written("'o', 7, save_checkpoints_steps=5, train_distribute=s")
    assert "c = NPURunConfig(model_dir='o', tf_random_seed=7, save_checkpoints_steps=5, distribute=s, mix" in out
    assert "iterations_per_loop=1, save_summary_steps=100)" in out
    assert "iterations_per_loop=1)" in written("'o', 7, 50, train_distribute=s")


TF = "import tensorflow as tf\n\n"
SERVERS = "tf.distribute.experimental.ParameterServerStrategy()"
OF_SERVERS = f"tf.estimator.RunConfig(model_dir='o', train_distribute={SERVERS})"
DONE = f"NPURunConfig(model_dir='o', distribute={SERVERS}, mix_compile_mode=True, iterations_per_loop=1, save_summary_steps=100)"
MAKES = f"{TF}def made():\n    return {OF_SERVERS}\n"
MAKES_BY_NAME = f"{TF}def made():\n    c = {OF_SERVERS}\n    return c\n"
HOLDS = f"{TF}made = {OF_SERVERS}\n"
MAIN = "\n\nif __name__ == '__main__':\n    e.train(data)\n"


def migrated(folder: Path, files: dict[str, str]) -> dict[str, str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    plan = npuify.migrate(folder, folder.parent / "out", Options(cache=False, jobs=1, unsafe=True, tf_adapter="1.15"))
    assert plan is not None
    return {name: (folder.parent / "out" / name).read_text() for name in files}


@pytest.mark.parametrize(
    ("configs", "use"),
    [
        (HOLDS, "from configs import made\ne = tf.estimator.Estimator(m, config=made)"),
        (HOLDS, "import configs\ne = tf.estimator.Estimator(m, config=configs.made)"),
        (HOLDS, "from configs import made as c\ne = tf.estimator.Estimator(m, 'o', c)"),
        (MAKES, "from configs import made\ne = tf.estimator.Estimator(m, config=made())"),
        (MAKES_BY_NAME, "import configs\nc = configs.made()\ne = tf.estimator.Estimator(m, config=c)"),
    ],
)
def test_servers_are_taken_from_another_module(configs: str, use: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = migrated(tmp_path / "in", {"configs.py": configs, "train.py": TF + use + MAIN})
    assert DONE in out["configs.py"]
    assert "e = NPUEstimator(m" in out["train.py"]
    assert "import NPURunConfig\n" in out["configs.py"]


@pytest.mark.parametrize(
    ("configs", "use"),
    [
        (HOLDS, "from configs import made\ne = tf.estimator.Estimator(m, config=made)\nprint(made.model_dir)"),
        (
            HOLDS,
            "import configs\ne = tf.estimator.Estimator(m, config=configs.made)\ntf.estimator.DNNClassifier(c, config=configs.made)",
        ),
        (HOLDS + "print(made)\n", "import configs\ne = tf.estimator.Estimator(m, config=configs.made)"),
        (
            MAKES,
            "from configs import made\nc = made()\nc = c.replace(model_dir='x')\ne = tf.estimator.Estimator(m, config=c)",
        ),
        (
            HOLDS.replace("model_dir", "protocol"),
            "from configs import made\ne = tf.estimator.Estimator(m, config=made)",
        ),
    ],
)
def test_servers_that_others_use_as_well_are_told_and_not_dropped(configs: str, use: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = migrated(tmp_path / "in", {"configs.py": configs, "train.py": TF + use + MAIN})
    assert "train_distribute=" in out["configs.py"]
    assert "NPUEstimator" not in out["train.py"]
    found = npuify.scan([tmp_path / "out"], Options(cache=False, jobs=1, tf_adapter="1.15")).findings
    assert {(one.file, one.code) for one in found if one.severity is Severity.ERROR} >= {("configs.py", "NPU907")}


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("super().__init__(m, config=run)", "super().__init__(m, config=run)"),
        ("super(Mine, self).__init__(model_fn=m, config=run)", "super(Mine, self).__init__(model_fn=m, config=run)"),
        ("tf.estimator.Estimator.__init__(self, m, None, run)", "NPUEstimator.__init__(self, m, None, run)"),
    ],
)
def test_a_class_for_servers_is_derived_from_the_adapters_own(head: str, call: str) -> None:
    text = f"{TF}x = tf.placeholder(tf.float32)\n\n\nclass Mine(tf.estimator.Estimator):\n    def __init__(self, p):\n        run = {OF_SERVERS}\n        {head}\n"
    out = output(text, tensorflow="1", unsafe=True)
    assert "class Mine(NPUEstimator):\n" in out
    assert f"        run = {DONE}\n        {call}\n" in out
    assert output(out, tensorflow="1", unsafe=True) == out
    mixed = text.replace("(tf.estimator.Estimator):", "(tf.estimator.Estimator, Mixin):")
    assert "class Mine(tf.estimator.Estimator, Mixin):\n" in output(mixed, tensorflow="1", unsafe=True)
    assert "train_distribute" in output(mixed, tensorflow="1", unsafe=True)


@pytest.mark.parametrize(
    "strategy",
    [
        "tf.contrib.distribute.ParameterServerStrategy()",
        "tf.distribute.experimental.ParameterServerStrategy() if flag else None",
        "tf.distribute.MirroredStrategy() if flag else tf.distribute.experimental.ParameterServerStrategy()",
    ],
)
def test_servers_that_the_adapter_may_not_take_are_told_and_stay(strategy: str) -> None:
    """It asks for TensorFlow's own class: contrib's of the same name is refused, and so is none beside a cluster."""
    text = f"{TF}x = tf.placeholder(tf.float32)\ns = {strategy}\nc = tf.estimator.RunConfig(train_distribute=s)\ne = tf.estimator.Estimator(m, config=c)\n"
    assert "train_distribute=s" in output(text, tensorflow="1", unsafe=True)
    told = [one for one in findings(text, tensorflow="1") if one.code == "NPU906"]
    assert [(one.safety, one.severity) for one in told] == [(Safety.MANUAL, Severity.ERROR)]


def test_where_each_argument_has_a_line_the_new_ones_have_too() -> None:
    out = written("\n    model_dir='o',  # here\n    train_distribute=s,\n    save_summary_steps=5\n")
    assert "    save_summary_steps=5,\n    mix_compile_mode=True,\n    iterations_per_loop=1\n)" in out


CLUSTER = "os.environ['TF_CONFIG'] = json.dumps({'cluster': {'ps': p, 'worker': w}, 'task': t})\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("c = tf.estimator.RunConfig('o')\ne = tf.estimator.Estimator(m, config=c)\n", 1),
        (f"e = tf.estimator.Estimator(m, config={OF_SERVERS})\n", 0),
        (f"e = NPUEstimator(m, config={DONE})\n", 0),
    ],
)
def test_a_cluster_without_parameter_servers_is_told(text: str, told: int) -> None:
    found = findings(f"import os, json\n{TF}x = tf.placeholder(tf.float32)\n{CLUSTER}{text}", tensorflow="1")
    assert [one.subject for one in found if one.code == "NPU928"] == ["TF_CONFIG"] * told
    assert not [one for one in findings(f"{TF}c = os.environ.get('TF_CONFIG')\n", tensorflow="1")]


@pytest.mark.parametrize(("default", "told"), [("True", True), ("False", False), ("None", False)])
def test_an_option_that_asks_for_tpus_by_default_is_told(default: str, told: bool, tmp_path: Path) -> None:
    text = (
        f"{TF}tf.flags.DEFINE_bool('use_tpu', {default}, 'h')\nFLAGS = tf.flags.FLAGS\n"
        "e = tf.contrib.tpu.TPUEstimator(m, config=c, use_tpu=FLAGS.use_tpu)\n"
    )
    (tmp_path / "in").mkdir()
    out = migrated(tmp_path / "in", {"train.py": text})["train.py"]
    assert "npu_run_config_init" in out
    for folder in ("in", "out"):
        found = npuify.scan([tmp_path / folder], Options(cache=False, jobs=1, tf_adapter="1.15")).findings
        assert [one.advice for one in found if one.subject == "use_tpu"] == ["start it with --use_tpu=False"] * told
