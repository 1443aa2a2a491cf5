"""Loggers that write with TensorFlow 1, in programs of PyTorch."""

from __future__ import annotations

import pytest

from npuify.model import Severity

from ...harness import findings

HEAD = "import tensorflow as tf\n\n\n"
LOG = "def log(value):\n    return tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=value)])\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (f"{HEAD}writer = tf.summary.FileWriter('runs')\n\n\n{LOG}", Severity.ERROR),
        (HEAD + LOG, Severity.ERROR),
        ("from tensorflow.summary import FileWriter\nwriter = FileWriter('runs')\n", Severity.ERROR),
        (f"try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n\n\n{LOG}", Severity.WARNING),
        (f"{HEAD}writer = tf.summary.create_file_writer('runs')\ntf.summary.scalar('loss', 1, 1)\n", None),
        (f"import tensorflow.compat.v1 as tf\n\n\n{LOG}", None),
        ("import tensorflow as tf\nfrom torchsummary import summary\nsummary(net, (3, 8, 8))\n", None),
    ],
)
def test_a_logger_of_tensorflow_1_is_told_of_once(text: str, severity: Severity | None) -> None:
    found = [one.severity for one in findings(text, name="logger.py") if one.code == "NPU676"]
    assert found == ([] if severity is None else [severity])
