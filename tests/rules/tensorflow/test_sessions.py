"""TensorFlow 1: sessions, estimators and devices, under every alias, and what must stay as it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge.tensorflow.tables import package
from npuify.model import Severity
from npuify.rules.tensorflow.imports import NAMES

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

TF = "import tensorflow as tf\n"
EITHER = "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("head", "before", "after"),
    [
        (TF, "tf.Session()", "tf.Session(config=npu_config_proto())"),
        (TF, "tf.Session(graph=g)", "tf.Session(graph=g, config=npu_config_proto())"),
        (TF, "tf.Session(graph=(g))", "tf.Session(graph=(g), config=npu_config_proto())"),
        (TF, "tf.Session(graph=g,)", "tf.Session(graph=g, config=npu_config_proto(),)"),
        (TF, "tf.Session(config=None)", "tf.Session(config=npu_config_proto())"),
        (TF, "tf.Session('', g, c)", "tf.Session('', g, npu_config_proto(config_proto=c))"),
        (TF, "tf.Session(\n    graph=g,  # one\n)", "tf.Session(\n    graph=g, config=npu_config_proto(),  # one\n)"),
        (TF, "tf.Session(config=f(c))", "tf.Session(config=npu_config_proto(config_proto=f(c)))"),
        (TF, "tf.compat.v1.Session()", "tf.compat.v1.Session(config=npu_config_proto())"),
        (TF, "tf.InteractiveSession()", "tf.InteractiveSession(config=npu_config_proto())"),
        (TF, "tf.train.MonitoredTrainingSession(hooks=h)", "tf.train.MonitoredTrainingSession(hooks=h, config=npu_config_proto())"),
        (EITHER, "tf.Session()", "tf.Session(config=npu_config_proto())"),
        ("import tensorflow.compat.v1 as tf1\n", "tf1.Session()", "tf1.Session(config=npu_config_proto())"),
        ("from tensorflow import Session\n", "Session()", "Session(config=npu_config_proto())"),
        ("from tensorflow import Session as S\n", "S()", "S(config=npu_config_proto())"),
        ("from tensorflow.python.client import session\n", "session.Session()", "session.Session(config=npu_config_proto())"),
        ("import tensorflow\nt = tensorflow\n", "t.Session()", "t.Session(config=npu_config_proto())"),
        ("from tensorflow.contrib import slim\n", "slim.learning.train(o, l)", "slim.learning.train(o, l, session_config=npu_config_proto())"),
        (TF + "sv = tf.train.Supervisor()\n", "sv.managed_session(config=c)", "sv.managed_session(config=npu_config_proto(config_proto=c))"),
        (TF + "m = tf.train.SessionManager()\n", "m.prepare_session('', config=c)", "m.prepare_session('', config=npu_config_proto(config_proto=c))"),
        (TF + "m = tf.train.SessionManager()\n", "m.wait_for_session('', c)", "m.wait_for_session('', npu_config_proto(config_proto=c))"),
        (TF, "tf.train.MonitoredSession()", "tf.train.MonitoredSession(session_creator=tf.train.ChiefSessionCreator(config=npu_config_proto()))"),
        (TF, "tf.train.MonitoredSession(None, h)", "tf.train.MonitoredSession(tf.train.ChiefSessionCreator(config=npu_config_proto()), h)"),
        ("from tensorflow.contrib import predictor\n", "predictor.from_saved_model(d)", "predictor.from_saved_model(d, config=npu_config_proto())"),
        (TF, "tf.contrib.training.train(o, d, config=c)", "tf.contrib.training.train(o, d, config=npu_config_proto(config_proto=c))"),
        ("from tensorflow.contrib import training\n", "training.evaluate_once(d)", "training.evaluate_once(d, config=npu_config_proto())"),
        (TF, "tf.estimator.Estimator(f, config=c)", "tf.estimator.Estimator(f, config=npu_run_config_init(run_config=c))"),
        (TF, "tf.estimator.Estimator(f, d, c)", "tf.estimator.Estimator(f, d, npu_run_config_init(run_config=c))"),
        (TF, "tf.estimator.DNNClassifier([8], cols)", "tf.estimator.DNNClassifier([8], cols, config=npu_run_config_init())"),
    ],
)  # fmt: skip
def test_what_runs_on_the_cpu_gets_the_configuration(head: str, before: str, after: str) -> None:
    out = output(f"{head}x = {before}\n", tensorflow="1")
    assert f"x = {after}\n" in out
    name = "npu_run_config_init" if "run_config" in after else "npu_config_proto"
    assert f"from npu_bridge.npu_init import {name}\n" in out
    ast.parse(out)


@pytest.mark.parametrize(
    "text",
    [
        "import requests\nimport tensorflow as tf\nr = requests.Session()\n",
        "import boto3, tensorflow\nr = boto3.Session()\n",
        TF + "class Session:\n    pass\n\n\nSession()\n",
        TF + "sv = other.Supervisor()\nsv.managed_session(config=c)\n",
        TF + "tf.Session(config=npu_config_proto())\n".replace("npu_config_proto", "helpers.npu_config_proto"),
        TF + "c = npu.npu_config_proto()\ntf.Session(config=c)\n",
        TF + "c = tf.ConfigProto()\nc.graph_options.rewrite_options.custom_optimizers.add().name = 'NpuOptimizer'\ntf.Session(config=c)\n",
        TF + "tf.Session(config=tf.ConfigProto(device_count={'GPU': 0}))\n",
        TF + "c = tf.ConfigProto(device_count={'GPU': 0})\ntf.Session(config=c)\n",
        TF + "tf.Session(**options)\n",
        TF + "tf.train.MonitoredSession(tf.train.WorkerSessionCreator(config=npu_config_proto()).x)\n".replace("npu_config_proto", "n.npu_config_proto"),
        TF + "m = other.SessionManager()\nm.prepare_session('')\n",
        "import predictor\nimport tensorflow as tf\npredictor.from_saved_model(d)\n",
        TF + "x = tf.constant(1)\n",
        TF + "with tf.device('/cpu:0'):\n    pass\n",
        "from setuptools import setup\nsetup(install_requires=['tensorflow-gpu==1.15'])\n",
        "from sklearn.svm import SVC\nimport tensorflow as tf\nclf = SVC()\nclf.fit(x, y)\n",
        "import regex, tensorflow as tf\np = regex.compile('a')\n",
    ],
)  # fmt: skip
def test_what_is_not_tensorflow_s_or_is_done_stays(text: str) -> None:
    assert output(text, tensorflow="1", unsafe=True) == text


def test_a_file_for_the_other_line_is_not_edited() -> None:
    text = TF + "@tf.function\ndef f(x):\n    return x\n\n\ns = tf.compat.v1.Session()\n"
    assert "npu_config_proto()" not in output(text, tensorflow="2")
    assert [one.code for one in findings(text, tensorflow="2") if one.code == "NPU901"]


def test_code_for_the_first_line_on_the_second_takes_the_other_module() -> None:
    text = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ns = tf.Session()\n"
    out = output(text, tensorflow="2", unsafe=True)
    assert "from npu_device.compat.v1.npu_init import npu_config_proto" in out
    assert out.index("enable_v1()") < out.index("tf.Session")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("tf.group(tf.global_variables_initializer(), it.initializer)", Severity.ERROR),
        ("tf.group(tf.global_variables_initializer(), tf.tables_initializer())", None),
        (
            "tf.group(tf.global_variables_initializer(), tf.tables_initializer())  # TABLE_INITIALIZERS",
            Severity.ERROR,
        ),
        ("sess.run([tf.global_variables_initializer(), it.initializer])", Severity.ERROR),
        ("sess.run((it.make_initializer(d), tf.initialize_all_variables()))", Severity.ERROR),
        ("sess.run([tf.global_variables_initializer(), tf.tables_initializer()])", None),
        ("sess.run([tf.global_variables_initializer(), init])", None),
        ("other([tf.global_variables_initializer(), it.initializer])", None),
        ("tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())", None),
        ("tf.group(a, it.initializer)", None),
    ],
)
def test_initialisers_in_one_group(text: str, severity: Severity | None) -> None:
    found = [one.severity for one in findings(f"{TF}g = {text}\n") if one.code == "NPU902"]
    assert found == ([] if severity is None else [severity])


INITIALISERS = """\
it = tf.data.Dataset.range(5).make_initializable_iterator()
v = tf.get_variable("v", [])
init = tf.global_variables_initializer()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "sess.run([it.initializer, init], feed_dict={x: 1})",
            "sess.run(init, feed_dict={x: 1})\nsess.run(it.initializer, feed_dict={x: 1})",
        ),
        (
            "if a:\n    sess.run((init, it.initializer, tf.local_variables_initializer()))",
            "if a:\n    sess.run([init, tf.local_variables_initializer()])\n    sess.run(it.initializer)",
        ),
        ("sess.run(tf.group(init, it.initializer))", "sess.run(init)\nsess.run(it.initializer)"),
        ("sess.run([init, v.initializer])", None),
        ("sess.run([it.initializer, init], feed_dict=made())", ""),
        ("r = sess.run([it.initializer, init])", ""),
        ("both = tf.group(init, it.initializer)\nsess.run([both, x])", ""),
    ],
)
def test_initialisers_are_run_one_after_the_other(before: str, after: str | None) -> None:
    """None where nothing is wrong, empty where it is told only."""
    text = f"{TF}{INITIALISERS}{before}\n"
    told = [one for one in findings(text, tensorflow="1") if one.code == "NPU902"]
    assert len(told) == (after is not None)
    assert output(text, tensorflow="1", unsafe=True) == (f"{TF}{INITIALISERS}{after}\n" if after else text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'/gpu:0'", "'/cpu:0'"),
        ('"/device:GPU:0"', '"/cpu:0"'),
        ("'/gpu:%d' % i", None),
        ("'/gpu:1'", None),
        ("f'/gpu:{i}'", None),
    ],
)
def test_devices(before: str, after: str | None) -> None:
    text = f"{TF}with tf.device({before}):\n    s = 1\n"
    assert output(text, tensorflow="1") == text.replace(before, after or before)
    assert output(text, tensorflow="2") == text
    found = [one for one in findings(text, tensorflow="1") if one.code == "NPU904"]
    assert bool(found[0].edits) == (after is not None)


@pytest.mark.parametrize(
    ("text", "line", "name", "severity"),
    [
        ("tf.test.is_gpu_available()", "", "tf.test.is_gpu_available", Severity.WARNING),
        ("tf.config.list_physical_devices('GPU')", "2", "tf.config.list_physical_devices", Severity.WARNING),
        ("tf.train.shuffle_batch([a], 1, 2, 3)", "1", "tf.train.shuffle_batch", Severity.ERROR),
        ("tf.keras.layers.CuDNNLSTM(3)", "1", "tf.keras.layers.CuDNNLSTM", Severity.ERROR),
        ("layer = tf.keras.layers.CuDNNLSTM", "1", "tf.keras.layers.CuDNNLSTM", Severity.ERROR),
        ("tf.contrib.cudnn_rnn.CudnnLSTM(1, 2)", "1", "tf.contrib.cudnn_rnn.CudnnLSTM", Severity.ERROR),
        ("tf.config.list_physical_devices('CPU')", "2", "", None),
        ("tf.train.batch([a], 2)", "2", "", None),
        ("tf.strings.join(a)", "1", "", None),
    ],
)
def test_names_of_the_table(text: str, line: str, name: str, severity: Severity | None) -> None:
    found = [one for one in findings(f"{TF}{text}\n", tensorflow=line) if one.code == "NPU903"]
    assert [(one.subject, one.severity) for one in found] == ([(name, severity)] if name else [])
    assert all(not one.edits for one in found)


@pytest.mark.parametrize(("soc", "severity"), [("", Severity.INFO), ("910", Severity.ERROR), ("A2", None)])
def test_overflow_checks_depend_on_the_chip(soc: str, severity: Severity | None) -> None:
    found = [one.severity for one in findings(TF + "x = tf.math.is_nan(y)\n", soc=soc) if one.code == "NPU903"]
    assert found == ([] if severity is None else [severity])


def test_edits_name_only_what_the_adapter_has() -> None:
    assert set(NAMES) <= set(package("npu_bridge").names["npu_bridge.npu_init"])


def test_stand_alone_keras_is_told_once_a_file() -> None:
    text = "import keras\nfrom keras.layers import Dense\nfrom tensorflow import keras as k\n"
    assert [one.start.line for one in findings(text) if one.code == "NPU908"] == [1]
    assert "NPU908" not in [one.code for one in findings("from tensorflow import keras\nkeras.Model()\n")]


def test_tensorflow_that_comes_from_a_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text(
        "import tensorflow as tf\nif new():\n    tfv1 = tf.compat.v1\nelse:\n    try:\n        tfv1 = tf.compat.v1\n"
        "    except AttributeError:\n        tfv1 = tf\nown = make()\n"
    )
    text = "from compat import tfv1 as tf, own\ns = tf.Session()\nt = own.Session()\nx = tf.placeholder(tf.float32)\n"
    out = output(text, root=tmp_path, name="program.py", tensorflow="1")
    assert "s = tf.Session(config=npu_config_proto())\nt = own.Session()\n" in out


@pytest.mark.parametrize(
    ("device", "line", "told"),
    [("'/CPU:0'", "2", True), ("'cpu:0'", "2", True), ("'/cpu:0'", "1", False), ("name", "2", False)],
)
def test_the_hosts_cpu_takes_another_way_once_the_npu_is_open(device: str, line: str, told: bool) -> None:
    found = [one for one in findings(f"{TF}with tf.device({device}):\n    s = 1\n", tensorflow=line)]
    assert [one.severity for one in found if one.code == "NPU904"] == ([Severity.INFO] if told else [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("c.graph_options.rewrite_options.constant_folding = R.OFF", True),
        ("c.graph_options.rewrite_options.constant_folding = R.ON", False),
        ("c.graph_options.rewrite_options.remapping = R.OFF", False),
        ("c.graph_options.rewrite_options.disable_model_pruning = True", True),
        ("c.rewrite_options.disable_model_pruning = False", False),
        ("o = tf.GraphOptions(rewrite_options=r.RewriterConfig(layout_optimizer=r.RewriterConfig.OFF))", True),
        ("c.constant_folding = R.OFF  # rewrite_options", False),
    ],
)
def test_passes_that_the_adapter_needs(text: str, told: bool) -> None:
    assert ("NPU917" in [one.code for one in findings(f"{TF}{text}\n", tensorflow="1")]) == told


PREPARING = """import tensorflow.compat.v1 as tf
with tf.device('/cpu:0'):
    image = tf.image.decode_jpeg(tf.placeholder(shape=[], dtype=tf.string))
pixels = tf.Session().run(image)
"""


def test_a_session_that_prepares_images_on_the_cpu_stays() -> None:
    (one,) = [found for found in findings(PREPARING, tensorflow="1") if found.code == "NPU901"]
    assert (one.severity, one.edits) == (Severity.INFO, ())
    assert "npu_config_proto" in output(
        PREPARING.replace("image =", "w = tf.get_variable('w')\n    image ="), tensorflow="1"
    )
    assert "npu_config_proto" in output(
        PREPARING.replace("pixels", "with tf.device('/gpu:0'): ...\npixels"), tensorflow="1"
    )


@pytest.mark.parametrize(
    ("call", "severity"),
    [("set_visible_devices([], 'GPU')", "info"), ("set_visible_devices(gpus[0], 'GPU')", "warning")],
)
def test_hiding_all_gpus_is_worth_a_note(call: str, severity: str) -> None:
    (one,) = [found for found in findings(f"{TF}tf.config.{call}\n") if found.code == "NPU903"]
    assert one.severity.value == severity


def test_tensorflow_that_splits_data_for_torch_is_left_alone() -> None:
    text = f"import torch\n{TF}gpus = tf.config.list_physical_devices('GPU')\nx = tf.distribute.InputContext()\n"
    assert not [found for found in findings(text) if found.code == "NPU903"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tf.contrib.estimator.stop_if_no_increase_hook(e, 'f1', 500)", True),
        ("from tensorflow.contrib import estimator\nestimator.InMemoryEvaluatorHook(e, f)", True),
        ("tf.contrib.data.Dataset.from_tensor_slices(x)", True),
        ("tf.contrib.data.TextLineDataset(x)", True),
        ("tf.contrib.estimator.LinearEstimator(h, c)", True),
        ("tf.estimator.experimental.stop_if_no_increase_hook(e, 'f1', 500)", False),
        ("tf.contrib.data.map_and_batch(f, 3)", False),
    ],
)
def test_what_moved_before_the_last_release_is_told(text: str, told: bool) -> None:
    found = [
        one for one in findings(f"{TF}{text}\n", tensorflow="1") if one.code == "NPU903" and "moved to" in one.message
    ]
    assert bool(found) == told


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("def build(device='/gpu:0'):\n    return device\n", Severity.INFO),
        ("def clone(i):\n    return '/device:GPU:%d' % i\n", Severity.WARNING),
        ("towers = [f'/gpu:{i}' for i in range(2)]  # devices\n", Severity.WARNING),
        ("device = worker + '/device:GPU:1'\n", Severity.WARNING),
        ("def build():\n    '/gpu:0'\n    return device\n", None),
        ("device = 'gpu'\n", None),
        ("device = '/cpu:0'\n", None),
        ("url = 'http://x/gpu:0/y'  # device\n", None),
    ],
)
def test_devices_that_are_named_away_from_where_they_are_used(text: str, severity: Severity | None) -> None:
    for line in ("1", "2"):
        found = [one.severity for one in findings(TF + text, tensorflow=line) if one.code == "NPU904"]
        assert found == ([] if severity is None else [severity if line == "1" else Severity.INFO])
        assert output(TF + text, tensorflow=line, unsafe=True) == TF + text
