"""Loss curves as programs write them, each in the form that the named program really uses."""

from __future__ import annotations

import gzip
import json
import math
import struct
from typing import TYPE_CHECKING

import pytest

from npuify.model import NpuifyError
from npuify.verify.loss import events
from npuify.verify.loss.logs import read_log
from npuify.verify.loss.read import read_curve

if TYPE_CHECKING:
    from pathlib import Path

LOGS = {
    "nanoGPT": (
        "step 0: train loss 4.2, val loss 4.3\niter 0: loss 4.2, time 10ms\niter 1: loss 4.1, time 9ms\n",
        (0, 1),
        (4.2, 4.1),
    ),
    "PyTorch's mnist": (
        (
            "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.3\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 1.4\n"
            "\nTest set: Average loss: 0.05, Accuracy: 9000/10000\n"
        ),
        (0, 640),
        (2.3, 1.4),
    ),
    "PyTorch's imagenet": (
        (
            "Epoch: [0][  10/5005]\tTime  0.3 ( 0.5)\tLoss 6.9e+00 (6.95e+00)\n"
            "Epoch: [0][  20/5005]\tTime  0.3 ( 0.5)\tLoss 6.8e+00 (6.90e+00)\nTest: [ 0/391]\tLoss 3.2 (3.2)\n"
        ),
        (10, 20),
        (6.9, 6.8),
    ),
    "Hugging Face": (
        (
            "{'loss': 0.5, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 0.1}\n{'loss': 0.4, 'epoch': 0.2}\n"
            "{'eval_loss': 0.3, 'epoch': 1.0}\n{'train_runtime': 3.0, 'train_loss': 0.45, 'epoch': 1.0}\n"
        ),
        (1, 2),
        (0.5, 0.4),
    ),
    "Megatron": (
        (
            " iteration       10/     100 | consumed samples: 80 | global batch size: 8 | lm loss: 1.05E+01 | loss scale: 1.0 |\n"
            " iteration       20/     100 | consumed samples: 160 | global batch size: 8 | lm loss: 9.05E+00 | loss scale: 1.0 |\n"
        ),
        (10, 20),
        (10.5, 9.05),
    ),
    "MMEngine": (
        (
            "Epoch(train)  [1][ 50/1000]  lr: 1.0e-2  eta: 1:00:00  time: 0.2  loss: 1.234  loss_cls: 0.5\n"
            "Epoch(train)  [1][ 100/1000]  lr: 1.0e-2  eta: 1:00:00  time: 0.2  loss: 1.134  loss_cls: 0.5\n"
        ),
        (50, 100),
        (1.234, 1.134),
    ),
    "detectron2": (
        (
            "[01/01 10:00:00 d2.utils.events]:  eta: 0:01  iter: 19  total_loss: 0.9  loss_cls: 0.3\n"
            "[01/01 10:00:00 d2.utils.events]:  eta: 0:01  iter: 39  total_loss: 0.8  loss_cls: 0.3\n"
        ),
        (19, 39),
        (0.9, 0.8),
    ),
    "tqdm": (
        "Epoch 1/3:  10%|#| 10/100 [00:01<00:10, loss=0.9]\rEpoch 1/3:  11%|#| 11/100 [00:01<00:10, loss=0.8]\r",
        (10, 11),
        (0.9, 0.8),
    ),
    "the tutorial": ("loss: 2.303  [   64/60000]\nloss: 2.100  [ 6464/60000]\n", (64, 6464), (2.303, 2.1)),
    "a tensor": (
        "Epoch 1, Loss: tensor(0.5, grad_fn=<MeanBackward0>)\nEpoch 2, Loss: tensor(0.4)\n",
        (1, 2),
        (0.5, 0.4),
    ),
    "LitGPT": (
        (
            "Epoch 1 | iter 1 step 0 | loss train: 10.98, val: n/a | iter time: 9.1 ms remaining time: 0:10:00\n"
            "Epoch 1 | iter 2 step 1 | loss train: 10.8, val: n/a | iter time: 9.0 ms (step)\n"
            "iter 2: val loss 9.1, val time: 3.00 ms\n"
        ),
        (1, 2),
        (10.98, 10.8),
    ),
    "Tacotron 2": (
        "Train loss 0 43.1 Grad Norm 11.0 3.00s/it\nTrain loss 1 40.5 Grad Norm 9.0 1.00s/it\nValidation loss 1: 50.0\n",
        (0, 1),
        (43.1, 40.5),
    ),
    "a tutorial with epochs and steps": (
        "Epoch [1/5], Step [100/600], Loss: 0.4\nEpoch [1/5], Step [200/600], Loss: 0.3\n",
        (100, 200),
        (0.4, 0.3),
    ),
    "a tutorial with epochs": ("Epoch [5/60], Loss: 9.8\nEpoch [10/60], Loss: 5.1\n", (5, 10), (9.8, 5.1)),
    "super resolution": (
        "===> Epoch[1](1/50): Loss: 0.34\n===> Epoch[1](2/50): Loss: 0.24\n===> Epoch 1 Complete: Avg. Loss: 0.29\n",
        (1, 2),
        (0.34, 0.24),
    ),
    "a bar with times that are called steps": (
        (
            " [=>...]  Step: 10ms | Tot: 20ms | Loss: 2.3 | Acc: 10% (10/100) \r 1/391 \r"
            " [==>..]  Step: 10ms | Tot: 30ms | Loss: 2.2 | Acc: 11% (22/200) \r 2/391 \n"
        ),
        (1, 2),
        (2.3, 2.2),
    ),
    "tqdm with a loss in brackets": (
        (
            "Epoch 1/5:   1%|     | 4/400 [00:01<01:00, 3.0img/s, loss (batch)=1.5]\r"
            "Epoch 1/5:   2%|     | 8/400 [00:02<01:00, 3.0img/s, loss (batch)=1.4]\r"
        ),
        (4, 8),
        (1.5, 1.4),
    ),
    "Diffusers": (
        (
            "Steps:   1%|     | 10/1000 [00:10<16:00,  1.0it/s, lr=1e-5, step_loss=0.12]\r"
            "Steps:   1%|     | 11/1000 [00:11<16:00,  1.0it/s, lr=1e-5, step_loss=0.22]\r"
        ),
        (10, 11),
        (0.12, 0.22),
    ),
    "Lightning's bar": (
        (
            "Epoch 0:  10%|     | 10/100 [00:01<00:10,  9.0it/s, v_num=0, train_loss_step=2.3]\r"
            "Epoch 0:  20%|     | 20/100 [00:01<00:10,  9.0it/s, v_num=0, train_loss_step=2.1]\r"
        ),
        (10, 20),
        (2.3, 2.1),
    ),
    "fairseq": (
        (
            "2020-01-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 1000 loss=12.5, nll_loss=12.3, num_updates=100\n"
            "2020-01-01 10:01:00 | INFO | train_inner | epoch 001:    200 / 1000 loss=11.5, nll_loss=11.3, num_updates=200\n"
            "2020-01-01 10:02:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9.1 | num_updates 1000\n"
        ),
        (100, 200),
        (12.5, 11.5),
    ),
    "WeNet": (
        "DEBUG TRAIN Batch 0/100 loss 80.1 loss_att 30 lr 0.1\nDEBUG CV Batch 0/0 loss 60.1 history loss 50\n",
        (0,),
        (80.1,),
    ),
    "DLLogger": (
        (
            'DLLL {"timestamp": "1", "type": "LOG", "step": [1, 10], "data": {"loss": 9.5, "lr": 0.1}}\n'
            'DLLL {"timestamp": "2", "type": "LOG", "step": [1, 20], "data": {"loss": 8.5, "lr": 0.1}}\n'
        ),
        (10, 20),
        (9.5, 8.5),
    ),
    "a table for each step": (
        (
            "---------------------\n| grad_norm | 1.2   |\n| loss      | 0.998 |\n| loss_q0   | 0.9   |\n"
            "| step      | 10    |\n---------------------\n| loss      | 0.898 |\n| step      | 20    |\n"
        ),
        (10, 20),
        (0.998, 0.898),
    ),
    "torchtitan, in colours": (
        (
            "[rank0]:2025 - root - INFO - \x1b[32mstep:  1  \x1b[31mloss:  8.13  \x1b[38;5;208mgrad_norm:  1.5\x1b[0m\n"
            "[rank0]:2025 - root - INFO - \x1b[32mstep:  2  \x1b[31mloss:  7.13  \x1b[38;5;208mgrad_norm:  1.5\x1b[0m\n"
            "[rank0]:2025 - root - INFO - \x1b[32mvalidate step:  2  \x1b[31mloss:  7.5\x1b[0m\n"
        ),
        (1, 2),
        (8.13, 7.13),
    ),
    "thousands": ("step 1 | loss=1,234.5\nstep 2 | loss=1,134.5\n", (1, 2), (1234.5, 1134.5)),
}


@pytest.mark.parametrize("program", LOGS)
def test_plain_logs(program: str) -> None:
    text, steps, values = LOGS[program]
    curve = read_log(text, "log")
    assert (curve.steps, curve.values) == (steps, values)


def test_numbers_that_are_none_are_kept() -> None:
    values = read_log("step=1 loss=nan\nstep=2 loss=inf\nstep=3 loss=-1.5e-3\n", "log").values
    assert math.isnan(values[0])
    assert values[1:] == (math.inf, -0.0015)


def test_a_pattern_of_ones_own() -> None:
    curve = read_log("@7 L<0.5>\n@8 L<0.25>\nnoise\n", "log", pattern=r"@(?P<step>\d+) L<(?P<loss>[\d.]+)>")
    assert (curve.steps, curve.values) == ((7, 8), (0.5, 0.25))
    with pytest.raises(NpuifyError, match="no group named loss"):
        read_log("x", "log", pattern="x")
    with pytest.raises(NpuifyError, match="not a regular expression"):
        read_log("x", "log", pattern="(")


def test_what_trackers_let_one_download(tmp_path: Path) -> None:
    """TensorBoard's JSON, a file of MLflow's store, and the CSV of Weights & Biases."""
    (tmp_path / "run.json").write_text("[[1700000000.1, 0, 3.5], [1700000001.2, 10, 2.5]]")
    (tmp_path / "train_loss").write_text("1700000000100 3.5 0\n1700000001200 2.5 10\n")
    (tmp_path / "wandb.csv").write_text(
        '"Step","lively-1 - train/loss","lively-1 - train/loss__MIN","lively-1 - train/loss__MAX"\n'
        '"0","3.5","3.5","3.5"\n"10","2.5","2.5","2.5"\n'
    )
    for name, kind in (("run.json", "json"), ("train_loss", "mlflow"), ("wandb.csv", "csv")):
        curve = read_curve(tmp_path / name)
        assert (curve.kind, curve.steps, curve.values) == (kind, (0, 10), (3.5, 2.5))


def test_rows_about_validation_or_the_end_are_no_points(tmp_path: Path) -> None:
    """As MMEngine and the Trainer of Hugging Face write them."""
    rows = [{"mode": "train", "iter": step, "loss": 3.0 / step} for step in range(1, 5)]
    rows.insert(2, {"mode": "val", "iter": 2, "loss": 9.0})
    rows.append({"loss": 1.0, "runtime": 3.0})
    path = tmp_path / "log.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    curve = read_curve(path)
    assert (curve.steps, curve.values) == ((1, 2, 3, 4), (3.0, 1.5, 1.0, 0.75))
    assert curve.notes == ("1 row without a step ignored, such as a final summary",)


def test_a_log_may_begin_with_a_sentence_that_holds_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("loading the data, then training with the loss of the paper\nstep 1 loss 3.5\nstep 2 loss 2.5\n")
    curve = read_curve(path)
    assert (curve.kind, curve.values) == ("log", (3.5, 2.5))
    path.write_text("name, size, colour\na, 3, red\n")
    with pytest.raises(NpuifyError, match="it has no training loss"):
        read_curve(path)


@pytest.mark.parametrize("prefix", ["[rank{}]: ", "[default{}]:", "[1,{}]<stdout>:"])
def test_of_several_processes_the_first_one_counts(prefix: str) -> None:
    """torchrun and mpirun put all processes into one file; their losses differ."""
    lines = [(rank, f"step {step} loss {10 * step + rank}.5") for step in (1, 2, 3) for rank in (1, 0)]
    curve = read_log("".join(f"{prefix.format(rank)}{line}\n" for rank, line in lines), "log")
    assert (curve.steps, curve.values) == ((1, 2, 3), (10.5, 20.5, 30.5))
    assert curve.notes == ("3 lines from other processes ignored",)


@pytest.mark.parametrize(
    ("line", "metric"),
    [
        ("[Epoch 0/9] [Batch {}/9] [D loss: 0.{}] [G loss: 0.9]", "D loss"),
        ("Epoch [0/9], Step [{}/9], d_loss: 0.{}, g_loss: 0.9, D(x): 0.9", "d_loss"),
    ],
)
def test_of_several_losses_one_has_to_be_named(line: str, metric: str) -> None:
    text = "".join(line.format(step, step) + "\n" for step in (1, 2))
    with pytest.raises(NpuifyError, match="it has several losses"):
        read_log(text, "log")
    curve = read_log(text, "log", metric)
    assert (curve.steps, curve.values) == ((1, 2), (0.1, 0.2))


def test_a_name_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(NpuifyError, match="it has no line with 'mse' and a number") as told:
        read_log("step 1 d_loss 3 g_loss 2\n", "log", "mse")
    assert told.value.advice == "it has these losses: d_loss, g_loss"


def test_a_log_about_something_else_is_no_curve() -> None:
    with pytest.raises(NpuifyError, match="it has no line with a training loss"):
        read_log("loss scale: 4096\nval loss: 0.3\ntest loss 2\n", "log")


def test_epochs_are_counted_and_resumed_runs_rewound() -> None:
    epochs = read_log("batch 1 loss 3\nbatch 2 loss 2\nbatch 1 loss 1\n", "log")
    assert (epochs.counted, epochs.steps) == (True, (1, 2, 3))
    resumed = read_log("step 1 loss 9\nstep 2 loss 8\nstep 3 loss 7\nstep 3 loss 6\nstep 4 loss 5\n", "log")
    assert (resumed.counted, resumed.steps, resumed.values) == (False, (1, 2, 3, 4), (9, 8, 6, 5))


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,train_loss_step,val_loss\n0,0,2.5,\n0,1,,2.4\n0,2,2.25,\n")
    curve = read_curve(path)
    assert (curve.metric, curve.steps, curve.values) == ("train_loss_step", (0, 2), (2.5, 2.25))
    assert read_curve(path, metric="val_loss").values == (2.4,)
    path.write_text("Wall time,Step,Value\n1700000000.5,10,0.5\n1700000001.5,20,0.25\n")
    assert read_curve(path).steps == (10, 20)
    path.write_text("1,3.5\n2,3.25\n")
    assert read_curve(path).values == (3.5, 3.25)
    path.write_text("step;loss_a;loss_b\n1;2;3\n")
    with pytest.raises(NpuifyError, match="several losses"):
        read_curve(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(NpuifyError, match="no training loss"):
        read_curve(path)


def test_json_lines_and_trainer_state(tmp_path: Path) -> None:
    lines = tmp_path / "log.json"
    lines.write_text(
        '{"mode": "train", "step": 1, "loss": 2.0}\n{"step": 2, "val": {"loss": 9}}\n{"step": 3, "loss": "1.5"}\n'
    )
    assert read_curve(lines).steps == (1, 3)
    state = tmp_path / "trainer_state.json"
    state.write_text(
        json.dumps(
            {
                "log_history": [
                    {"loss": 1.0, "step": 10},
                    {"eval_loss": 3.0, "step": 10},
                    {"loss": 0.5, "step": 20},
                    {"train_loss": 0.7, "step": 20},
                ]
            }
        )
    )
    assert (read_curve(state).kind, read_curve(state).values) == ("trainer state", (1.0, 0.5))
    for number in (9, 10):
        (tmp_path / "run" / f"checkpoint-{number}").mkdir(parents=True)
        text = json.dumps({"log_history": [{"loss": number, "step": 1}]})
        (tmp_path / "run" / f"checkpoint-{number}" / "trainer_state.json").write_text(text)
    assert read_curve(tmp_path / "run").values == (10.0,)
    lines.write_text('{"loss": [3, 2, 1], "steps": [1, 2, 4]}')
    assert read_curve(lines).steps == (1, 2, 4)
    lines.write_text("[1.0, 0.5]")
    assert read_curve(lines).counted


def test_packed_and_foreign_encodings(tmp_path: Path) -> None:
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(b"step 1 loss 2\nstep 2 loss 1\n"))
    assert read_curve(path).steps == (1, 2)
    path = tmp_path / "windows.log"
    path.write_bytes("step 1 loss 2\r\nstep 2 loss 1\r\n".encode("utf-16"))
    assert read_curve(path).values == (2.0, 1.0)


def field(number: int, kind: int, data: bytes) -> bytes:
    return bytes([number << 3 | kind]) + (bytes([len(data)]) if kind == 2 else b"") + data


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", events._masked(length)) + data + b"\0\0\0\0"


def scalar(tag: str, step: int, value: float, *, tensor: bool = False) -> bytes:
    number = (
        field(8, 2, field(1, 0, b"\x01") + field(2, 2, b"") + field(5, 2, struct.pack("<f", value)))
        if tensor
        else field(2, 5, struct.pack("<f", value))
    )
    summary = field(1, 2, field(1, 2, tag.encode()) + number)
    return record(field(1, 1, struct.pack("<d", 1.7e9)) + field(2, 0, bytes([step])) + field(5, 2, summary))


def test_tensorboard(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host"
    points = [scalar("train/loss", step, 2.0 / (step + 1), tensor=step % 2 == 0) for step in range(4)]
    whole = record(field(3, 2, b"brain.Event:2")) + b"".join(points) + scalar("eval/loss", 3, 9.0)
    path.write_bytes(whole)
    curve = read_curve(path)
    assert (curve.kind, curve.metric, curve.steps) == ("tensorboard", "train/loss", (0, 1, 2, 3))
    assert curve.values == pytest.approx((2.0, 1.0, 2 / 3, 0.5))
    assert read_curve(tmp_path).values == curve.values
    path.write_bytes(whole[:-7])
    cut = read_curve(path)
    assert cut.steps == (0, 1, 2, 3)
    assert any("truncated" in note for note in cut.notes)
    path.write_bytes(b"not a TensorBoard event file at all, but long enough")
    with pytest.raises(NpuifyError, match="not a TensorBoard event file"):
        read_curve(path)


def test_an_estimator_evaluates_into_a_folder_below_its_run(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    name = "events.out.tfevents.1700000000.host"
    head = record(field(3, 2, b"brain.Event:2"))
    (tmp_path / "eval" / name).write_bytes(head + scalar("loss", 3, 9.0))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / name).write_bytes(head + scalar("loss", 3, 8.0))
    with pytest.raises(NpuifyError, match="several runs"):
        read_curve(tmp_path)
    (tmp_path / name).write_bytes(head + b"".join(scalar("loss", step, 1.0 + step) for step in range(3)))
    assert read_curve(tmp_path).values == (1.0, 2.0, 3.0)


def test_the_checksum_is_crc32c() -> None:
    # The check value of CRC-32C (Castagnoli) for "123456789" is 0xE3069283; the mask is the one of TensorFlow's records.
    crc = 0xE3069283
    assert events._masked(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_captures(tmp_path: Path) -> None:
    (tmp_path / "rank0").mkdir()
    (tmp_path / "capture.json").write_text('{"format": 1, "device": "simulated"}')
    rows = [{"event": "process", "rank": 0, "simulated": True, "devices": {"npu": "Ascend910B1"}}]
    rows += [
        {"event": "loss", "step": step, "number": part, "value": 4.0 - step + part}
        for step in range(3)
        for part in (1, 2)
    ]
    rows.append({"event": "loss", "step": 3, "number": 1, "value": "nan"})
    (tmp_path / "rank0" / "records.jsonl").write_text("\n".join(map(json.dumps, rows)) + '\n{"event": "lo')
    curve = read_curve(tmp_path)
    assert (curve.kind, curve.device, curve.steps) == ("capture", "npu (simulated)", (0, 1, 2, 3))
    assert curve.values[:3] == (5.5, 4.5, 3.5)
    assert math.isnan(curve.values[3])


def test_what_holds_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="no such file"):
        read_curve(tmp_path / "missing")
    with pytest.raises(NpuifyError, match="no loss curve was found"):
        read_curve(tmp_path)
    (tmp_path / "empty.log").write_text("")
    with pytest.raises(NpuifyError, match="is empty"):
        read_curve(tmp_path / "empty.log")
