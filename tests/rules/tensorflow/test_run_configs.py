"""RunConfig as NPURunConfig, where parameter servers need it, and estimators of TPUs."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output

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
        ("'o', train_distribute=s", ""),
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
