"""Formats that a program reads besides its own weights: what only they need does not decide about a plain start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.report.verdicts.verdict import Level, judge

from .test_default_options import scan_of

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = """
import argparse
import torch
from backend import Backend

parser = argparse.ArgumentParser()
parser.add_argument("--weights", default=ROOT / "small.pt", help="where from (a path)")
args = parser.parse_args()
if __name__ == "__main__":
    print(Backend(args.weights, torch.device("cuda"))(1))
"""
BACKEND = """
import torch

class Backend:
    def __init__(self, w, device):
        pt, jit, onnx, xml, engine, coreml, saved_model, paddle = self._model_type(w)
        if pt:
            model = torch.load(w, map_location="cpu")
        elif onnx:
            import onnxruntime
            self.session = onnxruntime.InferenceSession(w, providers=["CUDAExecutionProvider"])
        elif engine:
            import tensorrt as trt
            self.model = trt.Runtime(trt.Logger())
        elif paddle:
            import paddle.inference as pdi
            self.model = pdi.Config(w)

    def __call__(self, x):
        return x.cuda()

    @staticmethod
    def _model_type(w):
        return [s in str(w) for s in (".pt", ".onnx", ".engine")]
"""


def level(folder: Path, train: str = TRAIN, backend: str = BACKEND) -> Level:
    found = judge(scan_of(folder, train=train, backend=backend)).programs
    return {one.file: one.level for one in found}["train.py"]


def test_what_only_another_format_needs(tmp_path: Path) -> None:
    found = judge(scan_of(tmp_path, train=TRAIN, backend=BACKEND)).programs
    (program,) = [one for one in found if one.file == "train.py"]
    assert program.level is Level.RUNS
    assert {one.what for one in program.conditional} == {
        f"a model file of another format ({name})" for name in ("onnx", "engine", "paddle")
    }


@pytest.mark.parametrize(
    ("train", "backend"),
    [
        (TRAIN.replace("small.pt", "small.engine"), BACKEND),
        (TRAIN.replace('"--weights", default=ROOT / "small.pt"', '"--weights"'), BACKEND),
        (TRAIN, BACKEND.replace("self._model_type(w)", "self.prepare(w)")),
        (TRAIN, BACKEND.replace("        if pt:", "        pt = engine = args.trt\n        if pt:")),
        (TRAIN, BACKEND.replace("pt, jit, onnx, xml, engine, coreml, saved_model, paddle", "pt, onnx, engine, paddle")),
    ],
)
def test_what_is_not_known_to_be_another_format(train: str, backend: str, tmp_path: Path) -> None:
    assert level(tmp_path, train, backend) is not Level.RUNS
