"""TensorFlow 2 and Horovod: where the NPU is opened, which steps run eagerly, what takes Horovod's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.model import Safety
from npuify.options import Options
from npuify.project.frameworks.tensorflow import tensorflow_specifier

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

TF = "import tensorflow as tf\n"
OPENED = "import npu_device\n\nnpu_device.open().as_default()\n"
GUARD = "\nif __name__ == '__main__':\n    model = tf.keras.Sequential()\n    model.fit(data)\n"


def test_the_npu_is_opened_behind_the_import() -> None:
    text = "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'\n" + TF + "import numpy as np\n" + GUARD
    out = output(text, tensorflow="2", unsafe=True)
    assert out == text.replace(TF, TF + OPENED + "\n")


def test_the_npu_is_opened_before_the_project_s_own_functions(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(TF + "@tf.function\ndef step(x):\n    return x\n")
    text = "import os\nimport steps\n" + TF + GUARD
    (tmp_path / "train.py").write_text(text)
    out = output(text, root=tmp_path, name="train.py", tensorflow="2", unsafe=True)
    assert out.index("as_default()") < out.index("import steps") < out.index("import tensorflow")
    steps = (tmp_path / "steps.py").read_text()
    assert output(steps, root=tmp_path, name="steps.py", tensorflow="2", unsafe=True) == steps


def test_no_npu_is_opened_for_tensorflow_where_the_model_is_pytorch_s(tmp_path: Path) -> None:
    library = (
        "import torch\n"
        + TF
        + "def train(model):\n    model.cuda()\n    tf.io.gfile.makedirs('x')\n    model.train()\n"
    )
    library = "import evaluation\n" + library
    (tmp_path / "run_lib.py").write_text(library)
    (tmp_path / "evaluation.py").write_text(TF + "def scores(net, x, y):\n    return net.fit(x, y)\n")
    text = "import run_lib\n" + TF + "if __name__ == '__main__':\n    tf.io.gfile.makedirs('x')\n    run_lib.train(m)\n"
    (tmp_path / "main.py").write_text(text)
    assert "npu_device" not in output(text, root=tmp_path, name="main.py", tensorflow="2", unsafe=True)
    assert 'tf.config.set_visible_devices([], "GPU")' in output(library, root=tmp_path, name="run_lib.py", unsafe=True)


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (TF + "def f(x):\n    return x\n", "program.py", "2"),
        (TF + GUARD, "program.py", ""),
        (TF + GUARD, "model_test.py", "2"),
        (TF + "if __name__ == '__main__':\n    tf.io.write_file(a, b)\n", "program.py", "2"),
        (TF + OPENED + GUARD, "program.py", "2"),
        ("def f():\n    import tensorflow as tf\n" + GUARD, "program.py", "2"),
        ("from sklearn.svm import SVC\n" + TF + "clf = SVC()\nclf.fit(x, y)\n", "program.py", "2"),
        (TF + "with tf.device('/GPU:0'):\n    x = 1\n", "program.py", "2"),
        (TF + "g = tf.config.list_physical_devices('GPU')\nfor x in g:\n    tf.config.experimental.set_memory_growth(x, True)\n", "m.py", "2"),
        # Of another framework: TensorFlow is not there, or for its version alone.
        ("import mxnet as mx\nimport horovod.mxnet as hvd\nnet.fit(data)\n", "program.py", "2"),
        ("import pytorch_lightning as pl\ntry:\n    import tensorflow as tf\nexcept ImportError:\n    pass\ntrainer.fit(m)\n", "program.py", "2"),
        (TF + "model.fit(ds.batch(3), callbacks=c)\n".replace("model.fit", "def f():\n    model.fit"), "program.py", "2"),
    ],
)  # fmt: skip
def test_where_nothing_is_opened(text: str, name: str, line: str) -> None:
    assert output(text, name=name, tensorflow=line, unsafe=True) == text


GRAPH = "@tf.function\ndef f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        (GRAPH + "f(tf.zeros([2]))\n", True),
        (GRAPH.replace("tf.function", "tf.function(autograph=False)") + "y = f(tf.zeros([2]))\n", True),
        ("def g(x):\n    return x\nf = tf.function(g)\nprint(f(1))\n", True),
        ("import timeit\n" + GRAPH + "t = timeit.timeit(lambda: f(1), number=3)\n", True),
        (GRAPH + "def g(x):\n    return f(x)\n", False),
        (GRAPH.replace("tf.function", "mine") + "f(1)\n# tf.function\n", False),
        ("from mine import function\n" + GRAPH.replace("tf.function", "function") + "f(1)\n# tf.function\n", False),
    ],
)
def test_a_program_without_a_guard_that_calls_a_graph_opens_the_npu(text: str, opened: bool) -> None:
    assert ("as_default()" in output(TF + text, tensorflow="2", unsafe=True)) == opened


@pytest.mark.parametrize(
    "text",
    [
        "from tensorflow.keras import mixed_precision\nmixed_precision.set_global_policy('mixed_float16')\n",
        "from tensorflow.keras import mixed_precision\no = mixed_precision.LossScaleOptimizer(o)\n",
        "n = len(tf.config.list_logical_devices('GPU'))\n",
        "x = tf.keras.layers.MultiHeadAttention(2, 4)(x, x)\n",
    ],
)
def test_what_only_the_second_line_has_tells_the_line(text: str) -> None:
    assert "as_default()" in output(TF + text + GUARD, unsafe=True)


def test_an_open_line_is_told() -> None:
    assert [one.code for one in findings(TF + GUARD)] == ["NPU910"]
    assert "--tf-adapter" in findings(TF + GUARD)[0].advice


def test_code_for_the_second_line_that_makes_a_session_for_memory_is_not_taken_for_the_first() -> None:
    text = TF + "from tensorflow.compat.v1 import InteractiveSession\ns = InteractiveSession(config=c)\n"
    assert output(text, unsafe=True) == text
    assert "--tf-adapter" in next(one.advice for one in findings(text) if one.code == "NPU901")
    assert output(text, tensorflow="2", unsafe=True) == text


STEP = "def step(x):\n    with tf.GradientTape() as tape:\n        y = f(x)\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STEP, True),
        ("@tf.function\n" + STEP, False),
        ("@tf.function(jit_compile=True)\n" + STEP, False),
        (STEP + "graph = tf.function(step)\n", False),
        (STEP + "@tf.function\ndef outer(x):\n    step(x)\n", False),
        ("class M(tf.keras.Model):\n    def train_step(self, x):\n        with tf.GradientTape() as t:\n            y = x\n", False),
        ("with tf.GradientTape() as tape:\n    y = x\n", True),
        ("with other.GradientTape() as tape:\n    y = x\n", False),
    ],
)  # fmt: skip
def test_steps_that_run_eagerly(text: str, told: bool) -> None:
    assert ("NPU911" in [one.code for one in findings(TF + text, tensorflow="2")]) == told


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("hvd.rank()", "get_rank_id()"),
        ("hvd.size()", "get_rank_size()"),
        ("hvd.local_rank()", "get_local_rank_id()"),
        ("hvd.DistributedOptimizer(o)", "npu_distributed_optimizer_wrapper(o)"),
        ("hvd.DistributedOptimizer(o, op=hvd.Adasum)", None),
        ("hvd.BroadcastGlobalVariablesHook(0)", "NPUBroadcastGlobalVariablesHook(0, get_rank_id())"),
        ("hvd.allreduce(t)", "npu_allreduce(t)"),
        ("hvd.allreduce(t, average=False)", 'hccl_ops.allreduce(t, "sum")'),
        ("hvd.allreduce(t, op=hvd.Max)", None),
        ("hvd.DistributedOptimizer(o, compression=c, sparse_as_dense=True)", "npu_distributed_optimizer_wrapper(o)"),
        ("hvd.DistributedOptimizer(o, backward_passes_per_step=2)", None),
    ],
)
def test_horovod(before: str, after: str | None) -> None:
    text = f"import horovod.tensorflow as hvd\n{TF}hvd.init()\nx = {before}\n"
    out = output(text, tensorflow="1", unsafe=True)
    assert f"x = {after or before}\n" in out
    assert "npu_sess, npu_shutdown = init_resource()\n" in out
    assert output(text, tensorflow="2", unsafe=True) == text
    told = [one.code for one in findings(text, tensorflow="2")]
    assert "NPU903" in told
    assert "NPU915" not in told


def test_horovod_of_torch_is_not_meant() -> None:
    text = "import torch\nimport horovod.torch as hvd\nhvd.init()\nx = hvd.rank()\n"
    assert "NPU915" not in [one.code for one in findings(text)]


@pytest.mark.parametrize(
    ("file", "text", "specifier"),
    [
        ("requirements.txt", "numpy\ntensorflow-gpu==2.3.0rc0\n", "==2.3.0"),
        ("requirements.txt", "tensorflow >= 1.11.0   # CPU\n", ">=1.11.0"),
        ("requirements.txt", "tensorflow-probability==0.8\n", ""),
        ("setup.py", "setup(install_requires=['tensorflow==1.4'])", "==1.4"),
        ("environment.yml", "dependencies:\n  - tensorflow-gpu=1.15\n", "==1.15.*"),
        ("pyproject.toml", "[tool.poetry.dependencies]\ntensorflow = '2.6.5'\n", ""),
        ("Dockerfile.gpu", "FROM tensorflow/tensorflow:1.12.0-gpu-py3\n", "==1.12.0"),
        ("requirements.txt", "tensorflow>=banana\n", ""),
        ("Dockerfile", "ARG BASE=nvcr.io/nvidia/tensorflow:22.12-tf2-py3\nFROM ${BASE}\n", ">=2.0"),
        ("Dockerfile", "FROM nvcr.io/nvidia/tensorflow:20.06-tf1-py3\n", "==1.15.*"),
        ("Dockerfile", "FROM nvcr.io/nvidia/tensorflow:19.03-py3\n", ""),
    ],
)
def test_what_a_project_asks_for(tmp_path: Path, file: str, text: str, specifier: str) -> None:
    (tmp_path / file).write_text(text)
    assert tensorflow_specifier(tmp_path) == specifier


def test_a_folder_with_requirements_of_its_own_is_for_what_it_says(tmp_path: Path) -> None:
    second = "import tensorflow.compat.v2 as tf\n\n\n@tf.function\ndef step(x):\n    return x\n\n\ns = tf.distribute.MirroredStrategy()\n"
    files = {
        "requirements.txt": "tensorflow==1.15.4\n",
        "run.py": "import tensorflow as tf\ns = tf.Session()\n",
        "open/requirements.txt": "tensorflow\n",
        "open/run.py": second,
        "pinned/requirements.txt": "tensorflow==2.3\n",
        "pinned/helper.py": "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\n",
        "other/requirements.txt": "numpy\n",
        "other/helper.py": "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\n",
    }
    for name, text in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    npuify.migrate(tmp_path / "in", tmp_path / "out", Options(cache=False, jobs=1, unsafe=True))
    out = {name: (tmp_path / "out" / name).read_text() for name in files}
    assert out["requirements.txt"] == "tensorflow-cpu==1.15.0\n"
    assert "npu_config_proto" in out["run.py"]
    assert out["open/requirements.txt"] == out["pinned/requirements.txt"] == "tensorflow-cpu==2.6.5\n"
    assert "OneDeviceStrategy" in out["open/run.py"]
    assert "OneDeviceStrategy" in out["pinned/helper.py"]
    assert "npu_strategy.NPUStrategy()" in out["other/helper.py"]
    asked = Options(cache=False, jobs=1, unsafe=True, tf_adapter="1.15")
    npuify.migrate(tmp_path / "in", tmp_path / "asked", asked)
    assert "npu_strategy.NPUStrategy()" in (tmp_path / "asked/pinned/helper.py").read_text()


@pytest.mark.parametrize(
    ("file", "before", "after", "line"),
    [
        ("requirements.txt", "tensorflow-gpu==1.15\n", "tensorflow-cpu==1.15.0\n", ""),
        ("requirements.txt", "tensorflow==1.4.1  # old\n", "tensorflow-cpu==1.15.0  # old\n", ""),
        ("requirements.txt", "tensorflow>=2.3\n", "tensorflow-cpu==2.6.5\n", ""),
        ("requirements.txt", "tensorflow-gpu\n", "tensorflow-cpu==2.6.5\n", "2"),
        ("requirements.txt", "tensorflow>=1.11.0\n", "tensorflow>=1.11.0\n", ""),
        ("requirements.txt", "tensorflow-cpu==2.6.5\n", "tensorflow-cpu==2.6.5\n", ""),
        ("requirements.txt", "tensorflow-probability==0.8\n", "tensorflow-probability==0.8\n", "1"),
        ("environment.yml", "dependencies:\n  - python=3.7\n  - tensorflow-gpu=1.15\n", "dependencies:\n  - python=3.7\n  - pip:\n      - tensorflow-cpu==1.15.0\n", ""),
        ("environment.yml", "dependencies:\n  - tensorflow-gpu=2.4\n  - tensorflow-base=2.4\n  - pip\n  - pip:\n    - tqdm\n", "dependencies:\n  - pip\n  - pip:\n    - tensorflow-cpu==2.6.5\n    - tqdm\n", ""),
        ("Pipfile", "[packages]\ntensorflow-gpu = \"==1.15\"\n", "[packages]\ntensorflow-cpu = \"==1.15.0\"\n", ""),
        ("setup.cfg", "[options]\ninstall_requires =\n    tensorflow>=1.12,<2\n", "[options]\ninstall_requires =\n    tensorflow-cpu==1.15.0\n", ""),
        ("setup.py", "setup(install_requires=['tensorflow-gpu==1.4'])\n", "setup(install_requires=['tensorflow-cpu==1.15.0'])\n", ""),
    ],
)  # fmt: skip
def test_requirements(file: str, before: str, after: str, line: str) -> None:
    assert output(before, name=file, tensorflow=line, unsafe=True) == after
    told = [one.code for one in findings(before, name=file, tensorflow=line)]
    assert told == ([] if "-cpu==" in before or "probability" in before else ["NPU920"])


@pytest.mark.parametrize(
    ("file", "python", "line", "after"),
    [
        ("environment.yml", "  - python=3.6\n", "1", "  - python=3.7.11\n"),
        ("environment.yml", "  - python=3.7\n", "1", None),
        ("environment.yml", "  - python=3.8\n", "1", "  - python=3.7.11\n"),
        ("environment.yml", "  - python=3.8\n", "2", None),
        ("environment.yml", "  - python=3.11\n", "2", "  - python=3.9\n"),
        ("pyproject.toml", 'python = "^3.10"\n', "2", 'python = ">=3.8,<3.10"\n'),
        ("pyproject.toml", 'python = "^3.6"\n', "1", None),
        ("Pipfile", '[requires]\npython_version = "3.6"\n', "1", '[requires]\npython_version = "3.7"\n'),
    ],
)
def test_the_python_of_the_adapter_is_asked_for(file: str, python: str, line: str, after: str | None) -> None:
    pin = "==1.15.0" if line == "1" else "==2.6.5"
    head = {
        "environment.yml": "dependencies:\n",
        "Pipfile": f'[packages]\ntensorflow-cpu = "{pin}"\n',
        "pyproject.toml": f'[tool.poetry.dependencies]\ntensorflow-cpu = "{pin[2:]}"\n',
    }[file]
    tail = f"  - pip:\n    - tensorflow-cpu{pin}\n" if file == "environment.yml" else ""
    out = output(head + python + tail, name=file, tensorflow=line, unsafe=True)
    assert out == head + (after or python) + tail


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("setup.py", "setup(install_requires=['tensorflow>=2.4'], python_requires='>=3.10')\n", "setup(install_requires=['tensorflow-cpu==2.6.5'], python_requires='>=3.8,<3.10')\n"),
        ("setup.py", "setup(install_requires=['tensorflow>=2.4'], python_requires='>=3.6')\n", "setup(install_requires=['tensorflow-cpu==2.6.5'], python_requires='>=3.6')\n"),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.10"\ndependencies = ["tensorflow"]\n', '[project]\nrequires-python = ">=3.8,<3.10"\ndependencies = ["tensorflow-cpu==2.6.5"]\n'),
        # A table holds a name once, and extras name what is there.
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.4"\ntensorflow-gpu = {version = "^2.4", optional = true}\n[tool.poetry.extras]\ngpu = ["tensorflow-gpu"]\n', '[tool.poetry.dependencies]\ntensorflow-cpu = "2.6.5"\n[tool.poetry.extras]\ngpu = ["tensorflow-cpu"]\n'),
    ],
)  # fmt: skip
def test_what_a_package_asks_of_python_and_of_both_builds(file: str, before: str, after: str) -> None:
    assert output(before, name=file, tensorflow="2", unsafe=True) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("conda install tensorflow-gpu=1.15\n", "pip install tensorflow-cpu==1.15.0\n"),
        ("conda install -c anaconda -y numpy tensorflow-gpu==1.14 || exit 1\n", "conda install -c anaconda -y numpy && pip install tensorflow-cpu==1.15.0 || exit 1\n"),
        ("conda install -y numpy \\\n  tensorflow-gpu=1.15 \\\n  tqdm\n", "conda install -y numpy \\\n  tqdm && pip install tensorflow-cpu==1.15.0\n"),
        ("conda create -n tf python=3.6 tensorflow-gpu=1.15 keras-gpu\n", "conda create -n tf python=3.7.11 && conda run -n tf pip install tensorflow-cpu==1.15.0\n"),
        ("mamba create -p /opt/tf tensorflow-gpu=1.15\n", "mamba create -p /opt/tf python=3.7.11 && mamba run -p /opt/tf pip install tensorflow-cpu==1.15.0\n"),
        ("conda install -n tf tensorflow-gpu\n", "conda run -n tf pip install tensorflow-cpu==1.15.0\n"),
        ("conda install numpy tensorflow-gpu=1.15 | tee log\n", None),
        ("sudo conda install numpy tensorflow-gpu=1.15\n", None),
        ("conda create tensorflow-gpu=1.15\n", None),
    ],
)  # fmt: skip
def test_tensorflow_of_conda_is_left_to_pip(before: str, after: str | None) -> None:
    assert output(before, name="setup.sh", tensorflow="1", unsafe=True) == (after or before)
    assert [one.code for one in findings(before, name="setup.sh", tensorflow="1")].count("NPU920") >= 1


def test_the_python_beside_a_tensorflow_project_is_the_adapter_s(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow-gpu==1.15\n")
    (tmp_path / "train.py").write_text(TF + "s = tf.Session()\n")
    (tmp_path / "environment.yml").write_text("dependencies:\n  - python=3.6\n  - pip:\n    - -r requirements.txt\n")
    found = npuify.scan([tmp_path], Options(cache=False, jobs=1)).findings
    (told,) = [one for one in found if one.file == "environment.yml"]
    assert [one.after for one in told.edits] == ["=3.7.11"]


def test_an_image_for_tensorflow_is_told_by_its_line() -> None:
    (told,) = findings("FROM tensorflow/tensorflow:1.15.0-gpu-py3\n", name="Dockerfile", tensorflow="1")
    assert "FROM quay.io/ascend/cann:" in told.advice
    assert "Python 3.7.11" in told.advice
    assert "pip install tensorflow-cpu==1.15.0 npu_bridge-1.15.0-py3-none-manylinux2014_$(arch).whl" in told.advice


def test_a_line_of_conda_is_about_tensorflow_not_torch() -> None:
    text = "conda install tensorflow-gpu=1.15 cudatoolkit=10.0\n"
    told = findings(text, name="setup.sh", tensorflow="1")
    assert "NPU920" in [one.code for one in told]
    assert not any("torch" in one.message for one in told)


def test_beside_torch_tensorflow_is_left_alone() -> None:
    out = output("torch==2.7.1\ntensorflow==2.9\n", name="requirements.txt", unsafe=True)
    assert "tensorflow==2.9\n" in out


@pytest.mark.parametrize(
    "call", ["train(data)", "result = outer(data)", "get_ipython().run_cell_magic('time', '', 'train(data)')"]
)
def test_a_function_that_calls_a_graph_makes_its_module_a_program(call: str) -> None:
    text = (
        "import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return model(x)\n\n\ndef train(data):\n    for x in data:\n"
        "        step(x)\n\n\ndef outer(data):\n    return train(data)\n\n\nmodel = tf.keras.Sequential()\n"
    )
    assert "npu_device.open().as_default()" in output(f"{text}{call}\n", tensorflow="2", unsafe=True)
    assert "npu_device" not in output(f"{text}other(data)\n", tensorflow="2", unsafe=True)


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ("class Trainer:", True),
        ("class Trainer(object):", True),
        ("class Model(tf.keras.Model):", False),
        ("class Model(Base):", False),
    ],
)
def test_a_train_step_is_a_graph_in_a_model_of_keras_only(owner: str, told: bool) -> None:
    body = "    def train_step(self, x):\n        with tf.GradientTape() as tape:\n            loss = self.m(x)\n"
    found = [one.code for one in findings(TF + owner + "\n" + body, tensorflow="2")]
    assert ("NPU911" in found) == told


def test_a_program_for_sessions_is_not_opened_in_a_project_for_the_second_line(tmp_path: Path) -> None:
    text = (
        TF
        + "\n\ndef main(_):\n    m = tf.layers.dense(x, 1)\n    tf.keras.Model(m).fit(x)\n\n\nif __name__ == '__main__':\n    tf.app.run()\n"
    )
    (tmp_path / "first.py").write_text(text)
    (tmp_path / "second.py").write_text(TF + GUARD + GRAPH)
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4\n")
    found = npuify.scan([tmp_path], Options(cache=False, jobs=1)).findings
    (told,) = [one for one in found if one.code == "NPU910" and one.file == "first.py"]
    assert told.safety is Safety.MANUAL
    assert not told.edits


def test_compile_loses_what_it_does_not_have() -> None:
    out = output(
        TF + "@tf.function\ndef f(x):\n    return x\nm.compile('adam', jit_compile=True, loss='mse')\n",
        tensorflow="2",
        unsafe=True,
    )
    assert "m.compile('adam', loss='mse')\n" in out


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("c.graph_options.rewrite_options.auto_mixed_precision = 1", "1", True),
        ("c.graph_options.rewrite_options.auto_mixed_precision = rewriter_config_pb2.RewriterConfig.ON", "1", True),
        ("c.graph_options.rewrite_options.auto_mixed_precision = rewriter_config_pb2.RewriterConfig.OFF", "1", False),
        ("r = rewriter_config_pb2.RewriterConfig(auto_mixed_precision=1)", "1", True),
        ("tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})", "2", True),
        ("tf.config.optimizer.set_experimental_options({'auto_mixed_precision': False})", "2", False),
        ("tf.config.optimizer.set_experimental_options({'layout_optimizer': True})", "2", False),
        ("train(auto_mixed_precision=True)", "2", False),
    ],
)
def test_the_pass_that_casts_for_cuda_is_told(text: str, line: str, told: bool) -> None:
    found = [one.subject for one in findings(f"{TF}{text}\n", tensorflow=line) if one.code == "NPU917"]
    assert ("auto_mixed_precision" in found) == told


@pytest.mark.parametrize(
    ("asked", "after"),
    [
        ("keras==2.4.3", "keras>=2.6.0,<2.7"),
        ("keras==2.6.0", "keras==2.6.0"),
        ("keras>=2.3", "keras>=2.3"),
        ("keras", "keras"),
        ("keras<2.6", "keras>=2.6.0,<2.7"),
        ("keras>=2.7", "keras>=2.6.0,<2.7"),
        ("tensorflow-text==2.4.3", "tensorflow-text>=2.6.0,<2.7"),
        ("tensorboard ~= 2.4.0", "tensorboard >= 2.6.0,<2.7"),
        ("numpy==1.18.5", "numpy>=1.19.2,<1.20"),
        ("numpy==1.22.0", "numpy>=1.19.2,<1.20"),
        ("gast==0.3.3  # why", "gast==0.4.0  # why"),
        ("tensorflow-hub==0.12", "tensorflow-hub==0.12"),
        ("tensorflow-addons==0.12.1", "tensorflow-addons>=0.14.0,<0.17"),
        ("tensorflow-addons~=0.16.1", "tensorflow-addons~=0.16.1"),
        ("tensorflow_probability==0.16", "tensorflow_probability>=0.9.0,<0.15"),
        ("tf-models-official>=2.7", "tf-models-official>=2.3.0,<2.7"),
    ],
)
def test_pins_of_the_old_version_go_with_it(asked: str, after: str) -> None:
    out = output(f"tensorflow-gpu==2.4.1\n{asked}\n", name="requirements.txt", tensorflow="2", unsafe=True)
    assert out == f"tensorflow-cpu==2.6.5\n{after}\n"
    assert output(out, name="requirements.txt", tensorflow="2", unsafe=True) == out


def test_pins_for_the_first_line() -> None:
    text = "tensorflow-gpu==1.12\ntensorflow-estimator==1.12.0\nkeras==2.2.4\ntensorboard==1.12\n"
    out = output(text, name="requirements.txt", tensorflow="1", unsafe=True)
    assert out == ("tensorflow-cpu==1.15.0\ntensorflow-estimator==1.15.1\nkeras==2.2.4\ntensorboard>=1.15.0,<1.16.0\n")


def test_pins_that_the_first_lines_wheel_refuses_are_told() -> None:
    text = "absl-py==0.2.2\nnumpy==1.14.5\nprotobuf==3.6.0\nsix==1.11.0\ntensorflow==1.8.0\n"
    out = output(text, name="requirements.txt", tensorflow="1", unsafe=True)
    assert out == ("absl-py>=0.7.0\nnumpy>=1.16.0,<2.0\nprotobuf>=3.6.1,<3.21\nsix==1.11.0\ntensorflow-cpu==1.15.0\n")


MODEL = "import tensorflow as tf\n\n\nclass M(tf.keras.Model):\n    @tf.function\n    def step(self, x):\n        with tf.GradientTape() as t:\n            return self(x)\n"
START = '"""Start."""\nimport click\n\nfrom model import M\n\nif __name__ == "__main__":\n    M()\n'


@pytest.mark.parametrize(
    ("name", "text", "opens"),
    [
        ("generate.py", START, True),
        ("prepare_data.py", START, False),
        ("generate_test.py", START, False),
        ("generate.py", START.replace("from model import M", "M = print"), False),
        ("generate.py", START.replace("import click", "import torch"), False),
        ("generate.py", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n" + START, False),
    ],
)
def test_a_program_whose_tensorflow_is_in_its_modules_opens_the_npu(
    name: str, text: str, opens: bool, tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "model.py").write_text(MODEL)
    (source / name).write_text(text)
    (source / "requirements.txt").write_text("tensorflow==2.6.5\n")
    options = Options(cache=False, jobs=1, unsafe=True)
    npuify.migrate(source, out, options)
    after = (out / name).read_text()
    assert ("npu_device.open().as_default()\n\nfrom model import M\n" in after) == opens
    assert (after != text) == opens
    assert (out / "model.py").read_text() == MODEL
    assert not [one for one in npuify.scan([out], options).findings if one.code == "NPU929"]


def test_a_project_on_pytorch_is_not_asked_for_its_programs(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\n\nm = torch.nn.Linear(1, 1)\n")
    (tmp_path / "start.py").write_text(START)
    found = npuify.scan([tmp_path], Options(cache=False, jobs=1)).findings
    assert not [one for one in found if one.code == "NPU929"]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("run = self.train", False),
        ("run = self._step", True),
        ("return self._step", True),
        ("self._step(1)", False),
    ],
)
def test_a_step_that_is_handed_on_beside_its_graph_is_told(use: str, told: bool) -> None:
    text = f"""{TF}

class M:
    def _step(self, x):
        with tf.GradientTape() as tape:
            return x

    @tf.function
    def train(self, x):
        return self._step(x)

    def choose(self, graph):
        {use}
"""
    found = [one for one in findings(text, tensorflow="2") if one.code == "NPU911"]
    assert [one.message for one in found] == [
        "_step runs as a tf.function elsewhere, and on the CPU where it is used here"
    ] * told
