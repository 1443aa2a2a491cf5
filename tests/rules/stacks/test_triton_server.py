"""Models of Triton Inference Server."""

from __future__ import annotations

import pytest

from ...harness import findings, output

MODEL = """name: "r"  # KIND_GPU
platform: "tensorrt_plan"
instance_group [ { count: 1, kind: KIND_GPU, gpus: [ 0, 1 ] } ]
optimization {
  execution_accelerators { gpu_execution_accelerator : [ { name : "tensorrt" } ] }
  cuda { graphs: true }
}
"""


def told(text: str, name: str = "models/r/config.pbtxt") -> list[tuple[int, str]]:
    return [(one.start.line, one.subject) for one in findings(text, name=name) if one.code == "NPU977"]


def test_each_place_is_told() -> None:
    assert told(MODEL) == [
        (2, "tensorrt_plan"),
        (3, "KIND_GPU"),
        (3, "gpus"),
        (5, "gpu_execution_accelerator"),
        (6, "cuda"),
    ]
    assert output(MODEL, unsafe=True, name="config.pbtxt") == MODEL


@pytest.mark.parametrize(
    "text",
    [
        'name: "r"\nbackend: "python"\ninstance_group [ { kind: KIND_CPU } ]\n',
        'name: "r"\nplatform: "onnxruntime_onnx"\nparameters: { key: "gpus" value: { string_value: "0" } }\n',
        "# kind: KIND_GPU\n",
        "",
    ],
)
def test_what_runs_on_the_cpu_is_not(text: str) -> None:
    assert told(text) == []


def test_a_graph_of_tensorflow_is_no_model_of_triton() -> None:
    assert told(MODEL, "graph.pbtxt") == []


@pytest.mark.parametrize(
    "text", ["instance_group [ { kind: KIND_GPU", "\x00\x01", "kind: KIND_GPU\r\nkind: KIND_GPU\r\n"]
)
def test_what_is_no_such_file_is_read_as_far_as_it_goes(text: str) -> None:
    assert len(told(text)) == text.count("KIND_GPU")
