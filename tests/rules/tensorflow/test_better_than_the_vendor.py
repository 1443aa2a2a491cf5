"""What the vendor's converter for TensorFlow gets wrong or stops at, with the right result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import npuify
from npuify.options import Options

from ...harness import findings, output

TF = "import tensorflow as tf\n"


@pytest.mark.parametrize("line", ["1", "2", ""])
@pytest.mark.parametrize(
    "text",
    [
        TF + "y = tf.nn.dropout(x, 0.5, noise_shape=s)\n",
        "import requests\n" + TF + "s = requests.Session()\n",
        TF + "class M:\n    def gelu(self, x):\n        return x * self.a\n",
        TF + "def gelu():\n    return 1\n",
        TF + "ds = tf.data.Dataset.range(9).batch(2)\nfor x in ds:\n    evaluate(x)\n",
        TF + "evaluation = ds.batch(2, drop_remainder=FLAG)\n",
        TF + "ds = ds.shard(a, b)\nother.shard(1, 2)\n",
        TF + "clf.fit(X, y)\np = regex.compile('a')\n",
        TF + "n = node.get('text')\n",
        "from setuptools import setup\nsetup(name='x')\n",
        "import numpy as np\n\n\ndef area(box):\n    return np.prod(box)\n",
    ],
)
def test_stays_as_it_is(text: str, line: str) -> None:
    assert output(text, unsafe=True, tensorflow=line) == text


def test_parentheses_of_a_rate_are_kept() -> None:
    text = TF + "s = tf.Session()\ny = tf.nn.dropout(x, rate=1 - kp)\n"
    assert "npu_ops.dropout(x, keep_prob=1.0 - (1 - kp))" in output(text, tensorflow="1", unsafe=True)
    assert "tf.nn.dropout(x, rate=1 - kp)" in output(text, tensorflow="1")
    assert output(TF + "y = tf.nn.dropout(x, rate=1 - kp)\n", tensorflow="2", unsafe=True).count("npu_ops") == 0


def test_supervised_sessions_are_seen() -> None:
    text = TF + "sv = tf.train.Supervisor(logdir=d)\nwith sv.managed_session(config=c) as s:\n    pass\n"
    assert "sv.managed_session(config=npu_config_proto(config_proto=c))" in output(text, tensorflow="1")


def test_modules_beside_horovod_stay() -> None:
    text = "import os, horovod.tensorflow as hvd\n" + TF + "hvd.init()\nr = hvd.rank()\nos.getcwd()\n"
    out = output(text, tensorflow="1", unsafe=True)
    assert out.startswith("import os\n")
    assert "hvd" not in out


@pytest.mark.parametrize(
    "text",
    [
        "import horovod.tensorflow as hvd\n" + TF + "hvd.init()\nt = hvd.allgather(t)\n",
        "import horovod.tensorflow as hvd\n" + TF + "hvd.init()\n__all__ = ['hvd']\n",
        "import horovod.tensorflow as hvd  # noqa\n" + TF + "hvd.init()\n",
        "from horovod.tensorflow import *\n" + TF + "s = tf.Session()\n",
    ],
)
def test_the_import_of_horovod_stays_where_it_is_used_or_said_to_be(text: str) -> None:
    out = output(text, tensorflow="1", unsafe=True)
    assert "npu_bridge" in out
    assert re.search(r"^ *(?:import horovod|from horovod)", out, re.MULTILINE)


def test_evaluation_and_prediction_keep_all_their_data() -> None:
    text = (
        TF
        + "train = tf.data.Dataset.range(9).batch(2)\nvalid = tf.data.Dataset.range(9).batch(2)\n"
        + "other = tf.data.Dataset.range(9).padded_batch(2, s)\nmodel = tf.keras.Sequential()\n"
        + "model.fit(train, validation_data=valid)\nmodel.predict(other)\nqueue.batch(2)\nbatch = 2\n"
    )
    for line in ("1", "2"):
        out = output(text, tensorflow=line, unsafe=True)
        assert "train = tf.data.Dataset.range(9).batch(2, drop_remainder=True)\n" in out
        assert out.count("drop_remainder") == 1


def test_a_program_without_a_main_guard_opens_the_npu_and_gets_no_callback_that_does_nothing() -> None:
    text = (
        TF
        + "m = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nm.compile('sgd', 'mse')\nm.fit(x, y, callbacks=[c])\n"
    )
    out = output(text, tensorflow="2", unsafe=True)
    assert "npu_device.open().as_default()\n" in out
    assert out.endswith("m.fit(x, y, callbacks=[c])\n")


def test_a_tree_with_all_of_it_is_migrated_to_its_end(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for at, text in enumerate(
        ("print 'x'\nimport tensorflow as tf\ntf.Session()\n", TF + "def gelu():\n    return 1\n")
    ):
        (source / f"file{at}.py").write_text(text)
    (source / "empty.py").write_bytes(b"")
    (source / "nulls.py").write_bytes(b"import tensorflow as tf\0\ntf.Session()\n")
    (source / "deep.py").write_text(TF + "x = " + "(" * 300 + "1" + ")" * 300 + "\ntf.Session()\n")
    (source / "last.py").write_text(TF + "s = tf.Session()\n")
    for line in ("1.15", "2.6.5"):
        result = npuify.migrate(source, tmp_path / line, Options(cache=False, jobs=1, tf_adapter=line, unsafe=True))
        assert "npu_config_proto()" in (tmp_path / line / "last.py").read_text()
        assert (
            {"file0.py", "nulls.py", "deep.py"} >= {one.file for one in result.scan.errors} >= {"file0.py", "nulls.py"}
        )


def test_an_import_goes_below_the_docstring_and_the_future() -> None:
    text = '"""Doc."""\nfrom __future__ import print_function\nA = 1\nB = 2\nC = 3\nD = 4\n' + TF + "s = tf.Session()\n"
    out = output(text, tensorflow="1")
    assert out.startswith('"""Doc."""\nfrom __future__ import print_function\n')
    assert out.index("from npu_bridge") < out.index("tf.Session")
    compile(out, "program.py", "exec")


def test_a_strategy_is_replaced_without_being_asked() -> None:
    text = TF + "s = tf.distribute.MirroredStrategy()\n"
    assert [one.code for one in findings(text, tensorflow="2")] == ["NPU921"]
    assert output(text, tensorflow="2", unsafe=True) == TF + 's = tf.distribute.OneDeviceStrategy("/cpu:0")\n'


def test_a_loss_scale_is_lowered_as_tensorflow_lowers_it() -> None:
    text = TF + "m = tf.train.experimental.DynamicLossScale(initial_loss_scale=8)\n"
    assert output(text, tensorflow="1", unsafe=True) == text
    out = output(text, tensorflow="1", unsafe=True, soc="910")
    assert "init_loss_scale=8, incr_every_n_steps=2000, decr_every_n_nan_or_inf=1" in out
    assert "decr_ratio=1.0 / 2.0" in out


def test_broken_files_do_not_end_the_run(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "old.py").write_text(
        "import tensorflow as tf\nprint 'loss', tf.Session().run(x)\nwith tf.device('/gpu:0'): pass\n"
    )
    (source / "latin.py").write_bytes(b"# caf\xe9\nimport tensorflow as tf\ns = tf.Session()\n")
    (source / "good.py").write_text(TF + "s = tf.Session()\n")
    (source / "good.py").chmod(0o755)
    result = npuify.migrate(source, out, options=Options(cache=False, jobs=1))
    assert {error.file for error in result.scan.errors} == {"old.py", "latin.py"}
    assert "npu_config_proto()" in (out / "good.py").read_text()
    assert (out / "good.py").stat().st_mode & 0o111
    assert (out / "latin.py").read_bytes() == (source / "latin.py").read_bytes()
    told = [one for one in result.scan.findings if one.file == "old.py"]
    assert {"tf.Session", "/gpu:0"} <= {one.subject for one in told}


HALF = {
    "half_statement.py": TF.encode() + b"s = tf.Session(\n",
    "half_string.py": TF.encode() + b"s = tf.Session()\nname = 'abc\n",
    "half_function.py": TF.encode() + b"def run():\n    s = tf.Session()\n    for x in y:\n",
    "half_character.py": TF.encode() + b"s = tf.Session()\n# caf\xc3",
    "half_docstring.py": TF.encode() + b's = tf.Session()\n"""text',
    "two_bytes.py": "\ufeffimport tensorflow as tf\ns = tf.Session()\n".encode("utf-16-le"),
    "python2.py": b"import tensorflow as tf\nprint 'x'\nexec 'y' in z\ns = tf.Session()\nraise E, 'z'\n",
    "tabs.py": TF.encode() + b"if x:\n\ts = tf.Session()\n        t = 1\n",
}


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
@pytest.mark.parametrize("line", ["1.15", "2.6.5"])
def test_half_files_are_told_and_left_and_the_others_are_migrated(tmp_path: Path, line: str, style: str) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name, data in HALF.items():
        (source / name).write_bytes(data)
    (source / "mark.py").write_bytes(b"\xef\xbb\xbf" + TF.encode() + b"s = tf.Session()\r\n")
    (source / "declared.py").write_bytes(
        b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + TF.encode() + b"s = tf.Session()\n"
    )
    (source / "good.py").write_text(TF + "s = tf.Session()\n")
    options = Options(cache=False, jobs=1, tf_adapter=line, unsafe=True, style=style)
    result = npuify.migrate(source, out, options)
    assert {one.file for one in result.scan.errors} == set(HALF)
    assert {name: (out / name).read_bytes() for name in HALF} == HALF
    told = {one.file for one in result.scan.findings}
    assert {"mark.py", "declared.py", "good.py"} <= told
    if line == "1.15" and style != "portable":
        for name in ("mark.py", "declared.py", "good.py"):
            assert b"npu_config_proto()" in (out / name).read_bytes()
        assert b"caf\xe9" in (out / "declared.py").read_bytes()
    again = npuify.migrate(out, tmp_path / "again", options)
    changed = [
        name
        for name in (*HALF, "mark.py", "declared.py", "good.py")
        if (tmp_path / "again" / name).read_bytes() != (out / name).read_bytes()
    ]
    assert changed == []
    assert {one.file for one in again.scan.errors} == set(HALF)
