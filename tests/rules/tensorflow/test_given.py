"""TensorFlow that a function is given: ``def start(tf, K)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

START = "def start(tf, K):\n    return tf.Session(config=tf.ConfigProto())\n"


@pytest.mark.parametrize(
    ("head", "call", "is_told"),
    [
        ("import tensorflow as tf", "start(tf, None)", True),
        ("import tensorflow.compat.v1 as one", "start(K=None, tf=one)", True),
        ("import tensorflow as tf", "start(tf, None)\nstart(tf.compat.v1, None)", True),
        ("import tarfile as tf", "start(tf, None)", False),
        ("import tensorflow as tf\nimport own", "start(tf, None)\nstart(own, None)", False),
    ],
)
def test_a_session_of_what_a_function_is_given(head: str, call: str, is_told: bool, tmp_path: Path) -> None:
    """All callers have to give TensorFlow: an edit of what one of them gives otherwise would break it."""
    (tmp_path / "own.py").write_text("class Session:\n    pass\n")
    (tmp_path / "main.py").write_text(f"{head}\nfrom nets import start\n\n{call}\n")
    (tmp_path / "nets.py").write_text(START)
    told = [one for one in findings(START, root=tmp_path, name="nets.py") if one.code == "NPU901"]
    assert bool(told) is is_told


def test_it_is_edited_as_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom nets import start\n\nstart(tf, None)\n")
    (tmp_path / "nets.py").write_text(START)
    after = output(START, root=tmp_path, name="nets.py", tensorflow="1")
    assert "tf.Session(config=npu_config_proto(config_proto=tf.ConfigProto()))" in after
    assert "from npu_bridge.npu_init import npu_config_proto" in after


def test_keras_is_known_by_its_own_name(tmp_path: Path) -> None:
    body = "    return keras.utils.multi_gpu_model(model, 2)\n"
    given = f"def start(keras, model):\n{body}"
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom nets import start\n\nstart(tf.keras, None)\n")
    (tmp_path / "nets.py").write_text(given)
    imported = f"from tensorflow import keras\n\ndef start(model):\n{body}"
    told, expected = (
        {(one.code, one.subject) for one in findings(text, root=tmp_path, name="nets.py")} for text in (given, imported)
    )
    assert told == expected != set()


@pytest.mark.parametrize(
    ("function", "is_told"),
    [
        ("def start(tf):\n    return tf.Session()\n", True),
        (
            "from npu_bridge import npu_init\n\n\ndef start(tf):\n    return tf.Session(config=npu_init.npu_config_proto())\n",
            False,
        ),
        ("def start(tf):\n    return tf.extractfile('x')\n", False),
        ("def start(requests):\n    return requests.Session()\n", False),
        ("def start(tf):\n    return tf.Session()\n\nimport own\nstart(own)\n", False),
    ],
)
def test_what_nobody_is_seen_to_give_is_told_and_left(function: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class Session:\n    pass\n")
    (tmp_path / "main.py").write_text("import tensorflow as tf\ns = tf.Session()\n")
    text = f"import tensorflow\n\n{function}"
    told = [one for one in findings(text, root=tmp_path, name="nets.py", tensorflow="1") if one.code == "NPU901"]
    assert bool(told) is is_told
    assert output(text, root=tmp_path, name="nets.py", tensorflow="1", unsafe=True) == text


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("def start(tf):\n    return tf.estimator.Estimator(model_fn=f)\n", "NPU906"),
        ("from npu_bridge.npu_init import npu_run_config_init\n\n\ndef start(tf):\n    return tf.estimator.Estimator(f, config=npu_run_config_init())\n", ""),
        ("def start(keras):\n    keras.backend.clear_session()\n", "NPU909"),
        ("def start(K):\n    K.clear_session()\n", "NPU909"),
        ("def start(own):\n    own.clear_session()\n", ""),
    ],
)  # fmt: skip
def test_estimators_and_keras_of_an_uncalled_function_are_told(function: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import tensorflow as tf\ns = tf.Session()\n")
    text = f"import tensorflow\n\n{function}"
    found = [one.code for one in findings(text, root=tmp_path, name="nets.py", tensorflow="1")]
    assert found == ([told] if told else [])
    assert output(text, root=tmp_path, name="nets.py", tensorflow="1", unsafe=True) == text
