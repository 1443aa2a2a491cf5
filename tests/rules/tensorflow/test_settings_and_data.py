"""Settings, strategies, datasets, loss scaling and Keras sessions: what is edited, and mostly what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.model import Safety, Severity
from npuify.options import Options

from ...harness import findings, output

TF = "import tensorflow as tf\n"
SOURCE = "ds = tf.data.Dataset.from_tensor_slices(x).shuffle(9)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SOURCE + ".batch(8)\nmodel.fit(ds)\n", ".batch(8, drop_remainder=True)"),
        (SOURCE + "\nds = ds.batch(8)\nmodel.fit(x=ds)\n", "ds.batch(8, drop_remainder=True)"),
        (SOURCE.replace("ds =", "train_ds =") + ".batch(8)\n", ".batch(8, drop_remainder=True)"),
        ("def train_input():\n    " + SOURCE + "\n    return ds.batch(8)\n", "ds.batch(8, drop_remainder=True)"),
        ("model.fit(tf.data.TFRecordDataset(f).batch(8).prefetch(1))\n", ".batch(8, drop_remainder=True).prefetch"),
        (SOURCE + ".batch(8)\nmodel.fit(ds)\nmodel.evaluate(ds)\n", None),
        (SOURCE + ".batch(1)\nmodel.fit(ds)\n", None),
        (SOURCE + ".batch(8)\nmodel.fit(other, validation_data=ds)\n", None),
        (SOURCE.replace("ds =", "val_ds =") + ".batch(8)\n", None),
        (SOURCE + ".batch(8)\nfor x in ds:\n    step(x)\n", None),
        (SOURCE + ".batch(8, drop_remainder=is_training)\nmodel.fit(ds)\n", None),
        (SOURCE + ".batch(8, True)\nmodel.fit(ds)\n", None),
        ("def eval_input():\n    " + SOURCE + "\n    return ds.batch(8)\n", None),
        ("def train(ds):\n    model.fit(ds.batch(8))\n", None),
        ("train = loader.batch(8)\nmodel.fit(train)\n", None),
        ("train_v = tf.Variable(1).batch(8)\n", None),
    ],
)
def test_only_data_that_is_trained_on_loses_its_last_batch(before: str, after: str | None) -> None:
    text = TF + before
    out = output(text, tensorflow="2", unsafe=True, name="module.py")
    out = out.replace("import npu_device\n\nnpu_device.open().as_default()\n\n", "")
    assert output(text, tensorflow="2", name="module.py") == text
    if after is None:
        assert "drop_remainder=True" not in out
    else:
        assert after in out


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("1", "c.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1", "tf.OptimizerOptions.OFF"),
        ("1", "c = tf.ConfigProto(allow_soft_placement=False)", "allow_soft_placement=True"),
        ("1", "c.allow_soft_placement = False", "c.allow_soft_placement = True"),
        ("1", "f(allow_soft_placement=False)", None),
        ("2", "tf.config.optimizer.set_jit(True)", "set_jit(False)"),
        ("2", "tf.config.optimizer.set_jit(flag)", None),
        ("2", "tf.config.run_functions_eagerly(True)", "run_functions_eagerly(False)"),
        ("2", "tf.config.run_functions_eagerly(False)", None),
        ("2", "tf.config.set_soft_device_placement(False)", "set_soft_device_placement(True)"),
        ("2", "s = tf.distribute.MirroredStrategy(devices=d)", 's = tf.distribute.OneDeviceStrategy("/cpu:0")'),
        ("2", "s = tf.distribute.experimental.MultiWorkerMirroredStrategy()", None),
        ("2", "s = tf.distribute.TPUStrategy(r)", None),
        ("2", "s = tf.distribute.experimental.ParameterServerStrategy(r)", None),
        ("2", "s = tf.distribute.OneDeviceStrategy('/gpu:0')", None),
        ("1", "s = tf.contrib.distribute.MirroredStrategy(num_gpus=2)", "s = npu_strategy.NPUStrategy()"),
        ("1", "c = tf.estimator.RunConfig(a, train_distribute=s, model_dir=d)", "RunConfig(a, model_dir=d)"),
        ("1", "c = tf.estimator.RunConfig(model_dir=d, device_fn=f)", "RunConfig(model_dir=d)"),
        ("1", "c = tf.estimator.RunConfig(model_dir=d, train_distribute=None)", None),
        ("1", "ds = ds.apply(tf.contrib.data.prefetch_to_device('/gpu:0'))", "ds = ds.prefetch(1)"),
        ("1", "b = tf.train.batch([i], 8, num_threads=n)", "num_threads=1"),
        ("1", "b = tf.train.batch([i], 8)", None),
        ("1", "sess.run(tf.group(tf.global_variables_initializer(), it.initializer), feed_dict=f)", None),
        ("1", "o = tf.contrib.tpu.CrossShardOptimizer(o)", "o = npu_distributed_optimizer_wrapper(o)"),
        ("1", "if use_tpu:\n    o = tf.contrib.tpu.CrossShardOptimizer(o)", None),
    ],
)  # fmt: skip
def test_settings(line: str, before: str, after: str | None) -> None:
    text = f"{TF}{before}\n"
    out = output(text, tensorflow=line, unsafe=True)
    assert (after in out) if after is not None else out == text


def test_loss_scaling_of_each_chip() -> None:
    text = (
        f"{TF}m = tf.contrib.mixed_precision.FixedLossScaleManager(8)\n"
        "o = tf.contrib.mixed_precision.LossScaleOptimizer(o, m)\n"
    )
    assert "= NPULossScaleOptimizer(o, m)\n" in output(text, tensorflow="1", unsafe=True, soc="910")
    assert output(text, tensorflow="1", unsafe=True) == text
    assert [one.code for one in findings(text, tensorflow="1", soc="A2")] == []
    second = f"{TF}o = tf.keras.mixed_precision.LossScaleOptimizer(o)\n"
    out = output(second, tensorflow="2", unsafe=True, soc="910")
    assert "o = npu_device.train.optimizer.NpuLossScaleOptimizer(o)\n" in out
    assert "import npu_device\n" in out


KERAS = TF + "model = tf.keras.Sequential()\nmodel.fit(x, y)\n"


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        (KERAS, True),
        (KERAS.replace("tensorflow as tf", "tensorflow.compat.v1 as tf"), True),
        (KERAS + "s = tf.Session()\n", False),
        (KERAS.replace(TF, TF + "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n"), False),
        (TF + "def f(model):\n    model.fit(x)\n", False),
        (TF + "import sklearn\nclf = sklearn.svm.SVC()\nclf.fit(x, y)\n", False),
    ],
)
def test_a_keras_program_of_the_first_line_gets_a_session(text: str, edited: bool) -> None:
    out = output(text, tensorflow="1", unsafe=True)
    assert ("tf.keras.backend.set_session(tf.Session(config=npu_config_proto()))\n" in out) == edited
    assert all(one.safety is not Safety.SAFE for one in findings(text, tensorflow="1") if one.code == "NPU916")


def test_what_runs_on_the_cpu_on_purpose_stays_there() -> None:
    text = f'import os\n{TF}os.environ["CUDA_VISIBLE_DEVICES"] = ""\ns = tf.Session()\n'
    assert output(text, tensorflow="1", unsafe=True) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0"', 'os.environ["ASCEND_DEVICE_ID"] = "0"'),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = str(args.gpu)', 'os.environ["ASCEND_DEVICE_ID"] = str(args.gpu)'),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', None),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "-1"', None),
        ('os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2"', None),
    ],
)
def test_a_process_has_one_device(before: str, after: str | None) -> None:
    text = f"import os\n{TF}{before}\n"
    assert output(text) == text
    assert output(text, unsafe=True) == (f"import os\n{TF}{after}\n" if after else text)
    assert [one.code for one in findings(text)] == ["NPU701"]


def test_a_list_somewhere_in_a_file_keeps_the_name_everywhere() -> None:
    text = (
        f"import os\n{TF}if 'CUDA_VISIBLE_DEVICES' not in os.environ:\n"
        "    os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(map(str, ids))\n"
    )
    assert output(text, unsafe=True) == text
    assert [(one.code, one.safety) for one in findings(text)] == [("NPU701", Safety.MANUAL)] * 2


def test_a_word_about_torch_does_not_make_a_file_one_of_torch(tmp_path: Path) -> None:
    norm = TF + "# As PyTorch does it, not as in torch\n\n\ndef norm(x, sync='nccl'):\n    return sync == 'nccl'\n"
    gpu = "import os\nimport norm  # pytorch has another\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
    files = {"norm.py": norm, "gpu.py": gpu, "serializer.py": "def f():\n    import torch\n    return torch.zeros(2)\n"}
    files |= {f"m{number}.py": TF + "x = tf.constant(1)\n" for number in range(4)}
    scan = npuify.scan([_project(tmp_path, files)], Options(cache=False, jobs=1))
    assert {(one.file, one.code) for one in scan.findings if one.edits} == {("gpu.py", "NPU701")}
    (edit,) = [one for one in scan.findings if one.edits]
    assert "ASCEND_DEVICE_ID" in edit.message


def _project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_what_means_something_to_torch_only_stays_in_a_project_of_tensorflow(tmp_path: Path) -> None:
    files = {
        "flags.py": "def spec(name):\n    return name == 'nccl'\n",
        "main.py": TF + "@tf.function\ndef step(x):\n    return x\n\n\nspec = 'nccl'\n",
        "run.sh": "export CUDA_VISIBLE_DEVICES=3\npython main.py --all_reduce_spec=nccl --device cuda:0\n",
    }
    scan = npuify.scan([_project(tmp_path, files)], Options(cache=False, jobs=1))
    assert {(one.file, one.code) for one in scan.findings if one.edits} == {("run.sh", "NPU702")}
    edit = next(one for one in scan.findings if one.code == "NPU702")
    assert edit.safety is Safety.REVIEW
    assert "ASCEND_DEVICE_ID" in edit.message


def test_an_empty_list_of_devices_hides_all_and_stays(tmp_path: Path) -> None:
    for number, line in enumerate(
        ("export CUDA_VISIBLE_DEVICES=; python main.py", "CUDA_VISIBLE_DEVICES= python main.py")
    ):
        root = tmp_path / str(number)
        root.mkdir()
        files = {"main.py": TF + "@tf.function\ndef step(x):\n    return x\n", "run.sh": line + "\n"}
        scan = npuify.scan([_project(root, files)], Options(cache=False, jobs=1))
        (found,) = [one for one in scan.findings if one.code == "NPU702"]
        assert "hides all GPUs" in found.message
        assert not found.edits


def test_the_rest_of_a_project_tells_which_tensorflow_a_file_is_for(tmp_path: Path) -> None:
    files = {
        "main.py": TF + "@tf.function\ndef step(x):\n    return x\n\n\nif __name__ == '__main__':\n    step(1)\n",
        "shards.py": TF
        + "import horovod.tensorflow as hvd\n\n\ndef shards(ds):\n    return ds.shard(hvd.size(), hvd.rank())\n",
        "old.py": TF + "\n\ndef f(config):\n    return tf.compat.v1.Session(config=tf.ConfigProto())\n",
    }
    for name in ("a.py", "b.py", "c.py"):
        files[name] = TF + "\n\n@tf.function\ndef f(x):\n    return x\n"
    scan = npuify.scan([_project(tmp_path, files)], Options(cache=False, jobs=1))
    assert {one.file for one in scan.findings if one.edits} == {"main.py"}
    assert {one.code for one in scan.findings if one.file == "shards.py"} == {"NPU903"}
    assert {one.code for one in scan.findings if one.file == "old.py"} == {"NPU901"}


def test_the_npu_is_opened_where_the_model_is_in_another_module(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "run.py").write_text(
        TF + "\n\ndef train(x):\n    with tf.GradientTape() as t:\n        return x\n"
    )
    guard = "\n\nif __name__ == '__main__':\n    train(1)\n"
    main = "import horovod.tensorflow as hvd\nfrom runtime.run import train\n" + guard
    (tmp_path / "prepare_data.py").write_text(TF + "from runtime.run import train\n" + guard)
    (tmp_path / "main.py").write_text(main)
    out = output(main, root=tmp_path, name="main.py", tensorflow="2", unsafe=True)
    assert out.index("as_default()") < out.index("from runtime.run")
    text = (tmp_path / "prepare_data.py").read_text()
    assert output(text, root=tmp_path, name="prepare_data.py", tensorflow="2", unsafe=True) == text


def test_a_program_that_exports_needs_no_npu() -> None:
    text = (
        TF
        + "if __name__ == '__main__':\n    m = tf.keras.models.load_model(p)\n    c = tf.lite.TFLiteConverter.from_keras_model(m)\n"
    )
    assert output(text, tensorflow="2", unsafe=True) == text


@pytest.mark.parametrize(
    "text",
    [
        'e.update(CUDA_VISIBLE_DEVICES=",".join(map(str, ids)))\n',
        'os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, ids))\n',
        'n = len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))\n',
        'n = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")\n',
    ],
)
def test_a_list_of_devices_is_told(text: str) -> None:
    text = f"import os\n{TF}{text}"
    assert output(text, unsafe=True) == text
    assert "NPU701" in [one.code for one in findings(text)] or "e.update" in text


GROW = "tf.config.experimental.set_memory_growth"


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        (f"gpus = LIST('GPU')\nif len(gpus) > 0:\n    {GROW}(gpus[0], True)\n", Severity.INFO),
        (f"gpus = LIST('GPU')\nfor gpu in gpus:\n    {GROW}(gpu, True)\n", Severity.INFO),
        (f"for gpu in LIST('GPU'):\n    {GROW}(gpu, True)\n", Severity.INFO),
        (f"gpus = LIST('GPU')\nif gpus:\n    {GROW}(gpus[0], True)\nelse:\n    raise SystemExit\n", Severity.WARNING),
        (f"gpus = LIST('GPU')\n{GROW}(gpus[0], True)\n", Severity.WARNING),
        (f"gpus = LIST('GPU')\nif gpus:\n    {GROW}(gpus[0], True)\nprint(len(gpus))\n", Severity.WARNING),
        ("gpus = LIST('GPU')\nif gpus:\n    strategy = make(gpus)\n", Severity.WARNING),
        ("gpus = LIST('GPU')\nif gpus:\n    os.environ['x'] = '1'\n", Severity.WARNING),
        ("gpus = LIST('GPU')\n", Severity.WARNING),
    ],
)
def test_a_list_of_gpus_that_only_sets_their_memory_up_needs_no_look(body: str, severity: Severity) -> None:
    text = TF + body.replace("LIST", "tf.config.list_physical_devices")
    found = [one.severity for one in findings(text, tensorflow="2") if one.subject.endswith("list_physical_devices")]
    assert found == [severity]


def test_tensorrt_is_told_where_it_is_used_under_another_name() -> None:
    text = "from tensorflow.python.compiler.tensorrt import trt_convert as trt\nc = trt.TrtGraphConverterV2(x)\n"
    assert ("NPU903", Severity.ERROR) in [(one.code, one.severity) for one in findings(text, tensorflow="2")]


def test_what_gpu_options_are_given_is_told_with_them() -> None:
    text = TF + "o = tf.GPUOptions(per_process_gpu_memory_fraction=0.3, allow_growth=True)\n"
    assert [one.code for one in findings(text, tensorflow="1")] == ["NPU903"]
