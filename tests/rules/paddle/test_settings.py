"""Settings, options and installing commands of programs on PaddlePaddle."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify.model import Safety

from ...harness import findings, output

OWN = "import paddle\n\n\ndef main(config):\n    paddle.set_device('cpu')\n    if config['use_gpu']:\n        pass\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "Global:\n  device: gpu\nArch:\n  name: X\n",
            "Global:\n  device: npu\nArch:\n  name: X\n",
        ),
        (
            "Global:\n  mode: train\n  device: gpu:0,1,2,3\nTrain:\n  epochs_iters: 20\n",
            "Global:\n  mode: train\n  device: npu:0,1,2,3\nTrain:\n  epochs_iters: 20\n",
        ),
        (
            "Global:\n  use_gpu: true  # a card\n  epoch_num: 1\nArchitecture:\n  model_type: det\n",
            "Global:\n  use_gpu: false  # a card\n  use_npu: true\n  epoch_num: 1\nArchitecture:\n  model_type: det\n",
        ),
        ("use_gpu: True\nuse_xpu: false\nuse_npu: False\n", "use_gpu: False\nuse_xpu: false\nuse_npu: True\n"),
        ("use_gpu: true\nuse_xpu: false\nuse_npu: true\n", "use_gpu: false\nuse_xpu: false\nuse_npu: true\n"),
        ("use_gpu: false\nuse_xpu: false\n",) * 2,
        ("use_gpu: true\nname: mine\n",) * 2,  # nobody knows whose
        ("device: gpu\nname: mine\n",) * 2,
    ],
)
def test_settings_of_paddles_suites(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="config.yml") == after


def test_a_project_on_paddle_has_devices_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OWN)
    assert output("device: gpu:0\n", unsafe=True, name="config.yaml", root=tmp_path) == "device: npu:0\n"


def test_a_switch_of_the_projects_own_stays(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OWN)
    text = "use_gpu: true\nuse_xpu: false\n"
    assert output(text, unsafe=True, name="config.yaml", root=tmp_path) == text
    assert not findings(text, name="config.yaml", root=tmp_path)


def test_programs_of_which_only_some_know_npus(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(OWN)
    (tmp_path / "d.py").write_text(OWN.replace("pass", "config['use_npu']"))
    text = "use_gpu: true\nuse_xpu: false\n"
    assert output(text, unsafe=True, name="config.yaml", root=tmp_path) == text
    (found,) = findings(text, name="config.yaml", root=tmp_path)
    assert (found.code, found.safety) == ("NPU952", Safety.MANUAL)


def test_settings_beside_programs_on_pytorch_are_not_paddles(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    text = "device: gpu\n"
    assert output(text, unsafe=True, name="config.yaml", root=tmp_path) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "python -m paddle.distributed.launch --gpus 0,1 train.py --gpus 2\n",
            "python -m paddle.distributed.launch --npus 0,1 train.py --gpus 2\n",
        ),
        (
            "python -m paddle.distributed.launch --selected_gpus=0,1 train.py\n",
            "python -m paddle.distributed.launch --devices=0,1 train.py\n",
        ),
        ("paddleocr ocr -i x.png --device gpu:0\n", "paddleocr ocr -i x.png --device npu:0\n"),
        (
            "python known.py --use_gpu=True --seed 1\n",
            "python known.py --use_gpu=False --use_npu=True --seed 1\n",
        ),
        (
            "python known.py -o Global.use_gpu=True Global.seed=1\n",
            "python known.py -o Global.use_gpu=False Global.use_npu=True Global.seed=1\n",
        ),
        ("python own.py --use_gpu=True\n",) * 2,
        ("paddlex --pipeline OCR --device gpu\n", "paddlex --pipeline OCR --device npu\n"),
    ],
)
def test_options(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "known.py").write_text("import paddle\n# --use_gpu --use_npu\n")
    (tmp_path / "own.py").write_text("import paddle\n# --use_gpu\n")
    (tmp_path / "train.py").write_text("import paddle\n")
    assert output(before, unsafe=True, name="run.sh", root=tmp_path) == after


PYTHON = "python -m pip install"
STABLE = "https://www.paddlepaddle.org.cn/packages/stable"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"python -m pip install paddlepaddle-gpu==3.0.0 -i {STABLE}/cu118/\n",
            f"python -m pip install paddlepaddle==3.0.0 -i {STABLE}/cpu/ && {PYTHON} paddle-custom-npu==3.0.0 -i {STABLE}/npu/\n",
        ),
        (
            "RUN pip install paddlepaddle-gpu\n",
            f"RUN pip install paddlepaddle==3.0.0 && pip install paddle-custom-npu==3.0.0 -i {STABLE}/npu/\n",
        ),
        ("pip install paddlepaddle-gpu==2.6.1\n", "pip install paddlepaddle==2.6.1\n"),  # no plug-in was seen
        ("pip install paddlepaddle==3.0.0\n",) * 2,
    ],
)
def test_the_plugin_is_installed_after_paddle(before: str, after: str) -> None:
    name = "Dockerfile" if before.startswith("RUN") else "install.sh"
    assert output(before, unsafe=True, name=name) == after
    assert output(after, unsafe=True, name=name) == after


def test_programs_with_settings_of_their_own_do_not_read_others(tmp_path: Path) -> None:
    known = OWN.replace("pass", "config['use_npu']")
    for folder, program in (("models/a", known), ("models/b", ""), ("tools", OWN)):
        (tmp_path / folder).mkdir(parents=True)
        if program:
            (tmp_path / folder / "trainer.py").write_text(program)
        if folder != "tools":
            (tmp_path / folder / "config.yaml").write_text("use_gpu: true\n")
    text = "use_gpu: true\nuse_xpu: false\n"
    assert "use_npu: true" in output(text, unsafe=True, name="models/a/config.yaml", root=tmp_path)
    assert output(text, unsafe=True, name="models/b/config.yaml", root=tmp_path) == text


def test_a_program_with_settings_in_a_folder_below_reads_those(tmp_path: Path) -> None:
    (tmp_path / "models/demo/rank").mkdir(parents=True)
    (tmp_path / "models/demo/infer.py").write_text(OWN)
    (tmp_path / "models/demo/rank/config.yaml").write_text("use_gpu: true\n")
    (tmp_path / "trainer.py").write_text(OWN.replace("pass", "config['use_npu']"))
    text = "use_gpu: true\nuse_xpu: false\n"
    assert "use_npu: true" in output(text, unsafe=True, name="models/other/config.yaml", root=tmp_path)
    assert output(text, unsafe=True, name="models/demo/rank/config.yaml", root=tmp_path) == text


def test_one_program_without_use_npu_among_many_leaves_it_to_a_person(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(OWN.replace("pass", "config['use_npu']"))
    (tmp_path / "d.py").write_text(OWN)
    text = "use_gpu: true\nuse_xpu: false\n"
    assert output(text, unsafe=True, name="config.yaml", root=tmp_path) == text
    (found,) = findings(text, name="config.yaml", root=tmp_path)
    assert (found.code, found.safety) == ("NPU952", Safety.MANUAL)


def test_the_back_end_of_a_program_on_paddle(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        'import argparse\nimport paddle\n\np = argparse.ArgumentParser()\np.add_argument("--backend", default="nccl")\n'
    )
    text = "python -m paddle.distributed.launch --npus 0,1 train.py --backend nccl\npython train.py --backend=nccl\n"
    assert output(text, unsafe=True, name="run.sh", root=tmp_path) == text.replace("nccl", "xccl")
