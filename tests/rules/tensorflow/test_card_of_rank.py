"""A card that a process chooses by its rank."""

from __future__ import annotations

import pytest

from ...harness import findings


@pytest.mark.parametrize(("value", "severity"), [("str(hvd.local_rank())", "info"), ("'1'", "warning")])
def test_a_card_chosen_by_the_rank(value: str, severity: str) -> None:
    text = (
        "import tensorflow as tf\nimport horovod.tensorflow as hvd\nconfig = tf.ConfigProto()\n"
        f"config.gpu_options.visible_device_list = {value}\n"
    )
    found = findings(text, tensorflow="1.15")
    assert [one.severity.value for one in found if one.code == "NPU905"] == [severity]
