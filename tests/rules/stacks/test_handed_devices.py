"""Devices that reach a library without a word for an NPU: by a variable, by an option, by a question for CUDA."""

from __future__ import annotations

import pytest

from ...harness import findings, output

TORCH = "import torch\n"
DEVICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'


@pytest.mark.parametrize(
    ("library", "call", "told"),
    [
        ("import xgboost\n", "xgboost.XGBClassifier(device=device)", True),
        ("from faster_whisper import WhisperModel\n", 'WhisperModel("large-v3", device=device)', True),
        ("from faster_whisper import WhisperModel\n", 'WhisperModel("large-v3", device)', True),
        ("import ctranslate2\n", 'ctranslate2.Translator("m", device=device)', True),
        ("import whisperx\n", 'whisperx.load_model("large-v2", device)', True),
        ("import onnxruntime\n", 'onnxruntime.InferenceSession("m").io_binding().bind_output("y", device)', True),
        ("from torchcodec.decoders import VideoDecoder\n", 'VideoDecoder("a.mp4", device=device)', True),
        ("from torchvision.io import decode_jpeg\n", "decode_jpeg(data, device=device)", True),
        (
            "import faster_whisper\n\n\nclass Model(faster_whisper.WhisperModel):\n    x = 1\n\n\n",
            "Model(1, device=device)",
            True,
        ),
        (
            "from faster_whisper import WhisperModel\n\n\nclass Model(WhisperModel):\n    x = 1\n\n\n",
            "Model(1, device=device)",
            True,
        ),
        ("import faster_whisper\n\n\nclass Model(torch.nn.Module):\n    x = 1\n\n\n", "Model(1, device=device)", False),
        ("import xgboost\n", "torch.zeros(1, device=device)", False),
        ("import whisperx\n", 'whisperx.load_align_model(language_code="en", device=device)', False),
        ("from faster_whisper import WhisperModel\n", 'WhisperModel("large-v3", device="cpu")', False),
        ("from faster_whisper import WhisperModel\n", 'WhisperModel("large-v3", device=None)', False),
        ("import whisper, faster_whisper\n", 'whisper.load_model("base", device=device)', False),
    ],
)
def test_a_device_in_a_variable_is_told_of_where_it_is_handed_on(library: str, call: str, told: bool) -> None:
    text = f"{TORCH}{library}{DEVICE}model = torch.nn.Linear(2, 2).to(device)\nx = {call}\n"
    assert ("NPU979" in {one.code for one in findings(text)}) is told
    # What PyTorch gets of the same variable changes all the same.
    assert 'device = "npu" if torch.npu.is_available()' in output(text)


def test_an_option_of_the_program_that_reaches_it() -> None:
    text = (
        f"{TORCH}import argparse\nfrom faster_whisper import WhisperModel\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cuda")\nargs = parser.parse_args()\n'
        'model = WhisperModel("large-v3", device=args.device)\nx = torch.zeros(1).to(args.device)\n'
    )
    assert "NPU979" in {one.code for one in findings(text)}


@pytest.mark.parametrize(
    "text",
    [
        'from catboost import CatBoostClassifier\nCatBoostClassifier(task_type="GPU" if torch.cuda.is_available() else "CPU")\n',
        'import catboost\no = dict(task_type="GPU" if torch.cuda.is_available() else "CPU")\ncatboost.CatBoost(**o)\n',
        'codec = "h264_nvenc" if torch.cuda.is_available() else "libx264"\n',
    ],
)
def test_a_question_for_cuda_on_behalf_of_such_a_library_stays(text: str) -> None:
    assert output(TORCH + text, unsafe=True) == TORCH + text
    assert "NPU101" in {one.code for one in findings(TORCH + text)}


def test_a_device_among_the_settings_of_such_a_library() -> None:
    text = "trees:\n  device: cuda\n  tree_method: hist\nnet:\n  device: cuda\n"
    assert (
        output(text, unsafe=True, name="a.yaml") == "trees:\n  device: cuda\n  tree_method: hist\nnet:\n  device: npu\n"
    )
    assert len(findings(text, name="a.yaml")) == 2


def test_easyocr_takes_the_name_of_a_device() -> None:
    text = 'import easyocr\n\na = easyocr.Reader(["en"], gpu=True)\nb = easyocr.Reader(["en"], gpu="npu:0")\n'
    assert [one.code for one in findings(TORCH + text)] == ["NPU324"]
