"""Words by which packages beside PyTorch ask for a GPU: told of, and never changed."""

from __future__ import annotations

import pytest

from npuify.knowledge.frameworks.device_words import DeviceWord, device_words

from ...harness import findings, output


def _programs(row: DeviceWord) -> list[str]:
    """A use of every name of a row, and of every parameter by each of its modules."""
    tops = sorted({name.partition(".")[0] for name in row.names})
    lines = [f"import {top}" for top in tops]
    lines += [f"x = {name.removesuffix('*')}{'Any' if name.endswith('*') else ''}()" for name in row.names]
    programs = ["\n".join(lines) + "\n"] if row.names else []
    for module in row.modules if row.arguments else ():
        above, _, last = module.rpartition(".")
        called = last if last[:1].isupper() else f"{last}.Any"
        calls = "".join(f"y = {called}({argument}=1)\n" for argument in row.arguments)
        programs.append(f"from {above} import {last}\n{calls}" if above else f"import {last}\n{calls}")
    return programs


@pytest.mark.parametrize("row", device_words(), ids=lambda row: f"{row.package}-{row.severity.value}")
def test_each_row_is_told_of_where_its_words_stand(row: DeviceWord) -> None:
    told = [one for text in _programs(row) for one in findings(text) if one.code == "NPU980"]
    assert len(told) == len(row.names) + len(row.arguments) * len(row.modules)
    assert all(one.message == row.message and one.advice == row.advice for one in told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from decord import VideoReader, gpu\nv = VideoReader('a.mp4', ctx=gpu(0))\n", 1),
        ("from decord import VideoReader, cpu\nv = VideoReader('a.mp4', ctx=cpu(0))\n", 0),
        ("import cv2 as cv\nm = cv.cuda_GpuMat()\nn = cv.cuda.GpuMat()\nf = cv.dnn.readNet('a')\n", 2),
        ("import llama_cpp\nm = llama_cpp.Llama('m', n_gpu_layers=0)\n", 0),
        ("import modal\napp = modal.App('a')\n\n\n@app.function(gpu='A100')\ndef f():\n    pass\n", 1),
        ("import modal\nimport torch\n\nx = torch.function(gpu='A100')\n", 0),
        ("import multimodal\n\n\n@app.function(gpu='A100')\ndef f():\n    pass\n", 0),
        ("from ray.rllib.algorithms.ppo import PPOConfig\nc = PPOConfig().resources(num_gpus=1)\n", 1),
        ("import spacy\nnlp = spacy.load('en')\n", 0),
    ],
)
def test_what_is_told_of(text: str, told: int) -> None:
    assert sum(one.code == "NPU980" for one in findings(text)) == told
    assert output(text, unsafe=True) == text


DGL = "import dgl\nimport torch\n\n"


@pytest.mark.parametrize(
    "line",
    [
        'x = dgl.graph(([0], [1])).to("cuda:0")',
        'g = dgl.batch([a, b])\ng = g.int().to("cuda")',
        'data = dgl.data.CoraGraphDataset()\ng = data[0]\ng = g.to("cuda:0")',
        'def run(g, x):\n    return g.to("cuda")',
        'def run(one: dgl.DGLGraph):\n    return one.to("cuda")',
    ],
)
def test_a_graph_of_dgl_is_told_of(line: str) -> None:
    text = f"{DGL}{line}\n"
    assert output(text, unsafe=True) == text
    assert [one.code for one in findings(text) if one.code in ("NPU120", "NPU970")] == ["NPU970"]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('x = dgl.nn.GraphConv(1, 1).to("cuda")', 'x = dgl.nn.GraphConv(1, 1).to("npu")'),
        ('x = torch.zeros(1).to("cuda")', 'x = torch.zeros(1).to("npu")'),
        ('g = torch.zeros(1)\ng = g.to("cuda")', 'g = torch.zeros(1)\ng = g.to("npu")'),
    ],
)
def test_what_pytorch_has_beside_it_changes(line: str, after: str) -> None:
    assert after in output(f"{DGL}{line}\n", unsafe=True)


def test_a_device_in_a_variable_is_told_of_at_the_graph() -> None:
    text = f'{DGL}device = torch.device("cuda")\ng = dgl.graph(([0], [1])).to(device)\nx = torch.zeros(1).to(device)\n'
    assert "NPU979" in {one.code for one in findings(text)}
    assert 'torch.device("npu")' in output(text)
