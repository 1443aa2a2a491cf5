"""Keras as a package of its own becomes TensorFlow's, where that has all of it."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output


@pytest.mark.parametrize("line", ["1", "2"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import keras\nm = keras.Model(a, b)\n", "from tensorflow import keras\n"),
        ("import keras as k\nm = k.layers.Dense(1)\n", "from tensorflow import keras as k\n"),
        ("import keras.backend as K\nK.mean(x)\n", "from tensorflow.keras import backend as K\n"),
        ("import keras.layers\nd = keras.layers.Dense(1)\n", "from tensorflow import keras\n"),
        ("from keras import backend as K, layers\n", "from tensorflow.keras import backend as K, layers\n"),
        ("from keras.layers.core import (Dense,\n    Dropout)\n", "from tensorflow.keras.layers import (Dense,\n"),
        ("from keras.engine.topology import Layer\n", "from tensorflow.keras.layers import Layer\n"),
        ("from keras.preprocessing.image import load_img\n", "from tensorflow.keras.preprocessing.image import"),
    ],
)
def test_what_tensorflow_has_is_imported_from_there(text: str, expected: str, line: str) -> None:
    out = output(text, tensorflow=line, unsafe=True)
    assert out.startswith(expected)
    assert output(text, tensorflow=line) == text
    assert [one.safety for one in findings(text, tensorflow=line) if one.code == "NPU908"] == [Safety.REVIEW]
    assert output(out, tensorflow=line, unsafe=True) == out


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("from keras.utils import np_utils\n", "utils.np_utils"),
        ("import keras\nx = keras.backend.tf.zeros(3)\n", "backend.tf.zeros"),
        ("from keras import backend as K\nK.image_dim_ordering()\n", "backend.image_dim_ordering"),
        ("from keras.layers import Dense\nfrom keras.layers import Merge\n", "layers.Merge"),
        ("from keras import backend as K\n\n\ndef f(x):\n    return K.int_size(x)\n", "backend.int_size"),
    ],
)
def test_what_tensorflow_lacks_is_named_and_nothing_is_edited(text: str, missing: str) -> None:
    assert output(text, tensorflow="2", unsafe=True) == text
    found = [one for one in findings(text, tensorflow="2") if one.code == "NPU908"]
    assert [one.safety for one in found] == [Safety.MANUAL]
    assert found[0].advice == f"import tensorflow.keras; it has no {missing} in 2.6"


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from keras.src.saving import a\nexcept ImportError:\n    from tensorflow.keras.saving import a\n",
        "try:\n    from tensorflow import keras\nexcept ImportError:\n    import keras\n",
    ],
)
def test_one_way_of_two_is_no_finding(text: str) -> None:
    assert output(text, tensorflow="2", unsafe=True) == text
    assert not [one for one in findings(text, tensorflow="2") if one.code == "NPU908"]


def test_which_version_is_not_known_nothing_is_edited() -> None:
    text = "import keras\nm = keras.Model(a, b)\n"
    assert output(text, unsafe=True) == text
    assert [one.safety for one in findings(text) if one.code == "NPU908"] == [Safety.MANUAL]
