"""Programs that never say torch: libraries that they drive compute on a card all the same."""

from __future__ import annotations

import pytest

from ..harness import findings


def told(text: str) -> list[tuple[str, int]]:
    return [(one.code, one.start.line) for one in findings(text)]


@pytest.mark.parametrize(
    ("text", "code", "lines"),
    [
        ("from transformers import TrainingArguments\na = TrainingArguments('o', tf32=True)\n", "NPU324", [2]),
        ("import ray\n\n\n@ray.remote(num_gpus=1)\ndef work(): ...\n", "NPU321", [4]),
        ("from ultralytics import YOLO\nYOLO('a.pt')('b.jpg', device=0)\n", "NPU972", [2]),
        (
            (
                "from ultralytics import YOLO\n\n\nclass App:\n    def __init__(self):\n        self.net = YOLO('a.pt')\n\n"
                "    def run(self):\n        self.net('b.jpg', device=0)\n        self.other('b.jpg', device=0)\n"
            ),
            "NPU972",
            [9],
        ),
    ],
)
def test_what_a_library_is_asked_for(text: str, code: str, lines: list[int]) -> None:
    assert [line for found, line in told(text) if found == code] == lines
