"""Dropout and GELU in one piece, only where they mean the same."""

from __future__ import annotations

import pytest

from ...harness import findings, output

TF = "import math\nimport numpy as np\nimport tensorflow as tf\ns = tf.Session()\n"


def migrated(text: str, line: str = "1") -> str:
    return output(TF + text, tensorflow=line, unsafe=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = tf.nn.dropout(x, 0.5)\n", "y = npu_ops.dropout(x, 0.5)\n"),
        ("y = tf.nn.dropout(x, keep_prob=k, seed=3)\n", "y = npu_ops.dropout(x, keep_prob=k, seed=3)\n"),
        ("y = tf.nn.dropout(x, rate=r)\n", "y = npu_ops.dropout(x, keep_prob=1.0 - r)\n"),
        ("y = tf.nn.dropout(x, k, None, 7)\n", "y = npu_ops.dropout(x, k, None, 7)\n"),
        ("y = tf.compat.v1.nn.dropout(x, rate=a if b else c)\n", "npu_ops.dropout(x, keep_prob=1.0 - (a if b else c))"),
    ],
)
def test_dropout_becomes_the_adapters(text: str, expected: str) -> None:
    assert expected in migrated(text)
    assert text in output(TF + text, tensorflow="1")
    assert text in migrated(text, "2")


@pytest.mark.parametrize(
    "text",
    [
        "y = tf.nn.dropout(x, 0.5, noise_shape=s)\n",
        "y = tf.nn.dropout(x, 0.5, s)\n",
        "y = tf.nn.dropout(x, 1)\n",
        "y = tf.nn.dropout(x, **settings)\n",
        "y = tf.nn.dropout(x, 0.5, rate=0.1)\n",
        "y = tf.compat.v2.nn.dropout(x, 0.1)\n",
        "y = other.nn.dropout(x, 0.5)\n",
        "y = tf.keras.backend.dropout(x, 0.5)\n",
    ],
)
def test_dropout_stays_where_it_means_something_else(text: str) -> None:
    assert text in migrated(text)


def test_layers_get_the_adapters_dropout_by_one_import() -> None:
    text = "a = tf.layers.dropout(x, 0.1)\nb = tf.keras.layers.Dropout(0.1)\n"
    out = migrated(text)
    assert out.count("import npu_convert_dropout") == 1
    assert text in out
    assert output(out, tensorflow="1", unsafe=True) == out


def test_a_program_that_hides_all_gpus_keeps_its_dropout() -> None:
    text = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n' + TF + "y = tf.nn.dropout(x, 0.5)\n"
    assert "y = tf.nn.dropout(x, 0.5)\n" in output(text, tensorflow="1", unsafe=True)


TANH = [
    "def gelu(x):\n    return 0.5*x*(1+tf.tanh(np.sqrt(2/np.pi)*(x+0.044715*tf.pow(x, 3))))\n",
    "def gelu(x):\n    cdf = 0.5 * (1.0 + tf.tanh((np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3)))))\n    return x * cdf\n",
    "def act(t):\n    return t * 0.5 * (1.0 + tf.nn.tanh(0.7978845608 * (t + 0.044715 * t * t * t)))\n",
    "def act(x):\n    c = tf.cast(math.sqrt(2 / math.pi), x.dtype)\n    return x / 2 * (1 + tf.math.tanh(c * (x + 0.044715 * x ** 3)))\n",
]
ERF = [
    "def gelu(x):\n    cdf = 0.5 * (1.0 + tf.erf(x / tf.sqrt(2.0)))\n    return x * cdf\n",
    "def gelu(x):\n    return x * 0.5 * (1.0 + tf.math.erf(x / np.sqrt(2.0)))\n",
]
OTHER = [
    "def gelu(x):\n    return x * tf.tanh(x)\n",
    "def gelu(x):\n    return 0.5*x*(1+tf.tanh(np.sqrt(2/np.pi)*(x+0.04*tf.pow(x, 3))))\n",
    "def gelu(x):\n    return own(x) + tf.tanh(x)\n",
    "def gelu(x, y):\n    return 0.5*x*(1+tf.tanh(np.sqrt(2/np.pi)*(x+0.044715*tf.pow(x, 3))))\n",
    "@tf.custom_gradient\ndef gelu(x):\n    return 0.5*x*(1+tf.tanh(np.sqrt(2/np.pi)*(x+0.044715*tf.pow(x, 3))))\n",
    "def gelu(x):\n    x = yield tf.tanh(x)\n    return x\n",
    "def gelu(x):\n    return x ** x ** x * tf.tanh(x)\n",
]


@pytest.mark.parametrize("text", TANH)
def test_gelu_by_tanh_is_one_operator(text: str) -> None:
    out = migrated(text)
    assert "return npu_unary_ops.gelu(" in out
    assert "tanh" not in out
    assert "from npu_bridge.npu_init import npu_config_proto, npu_unary_ops" in out
    assert output(out, tensorflow="1", unsafe=True) == out


@pytest.mark.parametrize("text", ERF)
def test_gelu_by_erf_is_told_of(text: str) -> None:
    assert text in migrated(text)
    found = [one for one in findings(TF + text, tensorflow="1") if one.code == "NPU927"]
    assert len(found) == 1
    assert "erf" in found[0].advice


@pytest.mark.parametrize("text", OTHER)
def test_what_is_no_gelu_is_left_alone(text: str) -> None:
    assert text in migrated(text)
    assert not [one for one in findings(TF + text, tensorflow="1") if one.code == "NPU927"]
