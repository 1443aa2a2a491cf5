"""Answers hold where the lines of a failure stand among what real logs are full of, and among other ranks."""

from __future__ import annotations

import pytest

from npuify.diagnosis.model import Confidence

from .samples import FOLDER, diagnosed, is_right, samples

HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'
STEP = "{'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 1e-5, 'epoch': 0.1}\n"
FINISHED = "{'train_runtime': 812.3, 'train_samples_per_second': 3.1, 'train_loss': 1.91, 'epoch': 3.0}\n"
BEFORE = """\
/e/lib/python3.10/site-packages/torch_npu/contrib/transfer_to_npu.py:292: ImportWarning:
    The backend in torch.distributed.init_process_group set to hccl now..
  warnings.warn(msg, ImportWarning)
/e/lib/python3.10/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: 'libc10_cuda.so: cannot open shared object file: No such file or directory'If you don't plan on using it, ignore this.
  warn(
[2025-03-01 10:11:12,123] [INFO] [real_accelerator.py:203:get_accelerator] Setting ds_accelerator to npu (auto detect)
 [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.
[W compiler_depend.ts:133] Warning: Warning: Device do not support double dtype now, dtype cast repalce with float. (function operator())
WARNING 03-01 10:11:12 _custom_ops.py:21] Failed to import from vllm._C with ModuleNotFoundError("No module named 'vllm._C'")
[W VariableFallbackKernel.cpp:51] Warning: CAUTION: The operator 'aten::_unique2' is not currently supported on the NPU backend and will fall back to run on the CPU. (function npu_cpu_fallback)
{'loss': 2.3012, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.01}
"""
AFTER = """\
[ERROR] 2025-03-01-10:12:13 (PID:4321, Device:0, RankID:-1) ERR99999 UNKNOWN application exception
[ERROR] TBE Subprocess[task_distribute] raise error[], main process disappeared!
Exception ignored in: <function Pool.__del__ at 0x7f0000000000>
Traceback (most recent call last):
  File "/usr/lib/python3.10/multiprocessing/pool.py", line 271, in __del__
    self._change_notifier.put(None)
AttributeError: 'NoneType' object has no attribute 'dumps'
/usr/lib/python3.10/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 30 leaked semaphore objects
[2025-03-01 10:12:20,100] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process 4322 closing signal SIGTERM
[2025-03-01 10:12:20,900] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 3 (pid: 4325) of binary: /usr/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Root Cause (first observed failure):
[0]:
  rank      : 3 (local_rank: 3)
"""
WAITED = """\
Traceback (most recent call last):
  File "/e/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 2501, in all_reduce
    work = group.allreduce([tensor], opts)
RuntimeError: InnerRunOpApi:torch_npu/csrc/framework/OpParamMaker.cpp:281 OPS function error: HcclAllreduce, error code is 6
EI0006: [PID: 99{rank}] 2025-03-01-10:40:07.444.436 Getting socket times out. Reason: Remote Rank did not send the data in time.
"""
ROWS = [
    row
    for file in sorted(FOLDER.glob("*.toml"))
    for row in samples(file.stem)
    if row["cause"] not in {"none", "operator-fallback"}
]
OF_ALL_RANKS = {"collective-timeout", "link-setup", "peer-ended"}


def _right_among(wrap: str, rows: list[dict[str, str]]) -> float:
    right = of = 0
    for row in rows:
        lines = row["lines"].strip("\n") + "\n"
        if is_right(row, diagnosed(lines)):
            of += 1
            if wrap == "ranks":
                logs = [BEFORE + WAITED.replace("{rank}", str(rank)) + AFTER for rank in range(3)]
                right += is_right(row, diagnosed(*logs, BEFORE + lines + AFTER))
            else:
                right += is_right(row, diagnosed(BEFORE + lines + AFTER))
    return right / of


def test_the_answer_stays_among_warnings_and_what_a_launcher_says() -> None:
    assert _right_among("one", ROWS[::9]) >= 0.95


def test_the_answer_stays_beside_ranks_that_waited() -> None:
    assert _right_among("ranks", [row for row in ROWS if row["cause"] not in OF_ALL_RANKS][::9]) >= 0.95


@pytest.mark.thorough
@pytest.mark.parametrize(("wrap", "least"), [("one", 0.98), ("ranks", 0.97)])
def test_all_answers_stay_among_noise(wrap: str, least: float) -> None:
    rows = ROWS if wrap == "one" else [row for row in ROWS if row["cause"] not in OF_ALL_RANKS]
    assert _right_among(wrap, rows) >= least


@pytest.mark.parametrize(
    ("cause", "log"),
    [
        ("script-error", HEAD + "ModuleNotFoundError: No module named 'flash_attn'\nfalling back\n" + STEP * 5 + HEAD + "KeyError: 'labels'\n"),
        ("script-error", "ERROR loader.py:12 failed: No module named 'xformers', using sdpa\n" + STEP * 3 + HEAD + "IndexError: list index out of range\n"),
        ("out-of-memory", HEAD + "ConnectionError: HTTPSConnectionPool(host='h', port=443): Max retries exceeded with url: /x\n" + STEP * 3 + HEAD + "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n"),
        # A step of another rank may still be printed after a failure.
        ("script-error", HEAD + "KeyError: 'labels'\n" + STEP),
        ("overflow", STEP * 3 + STEP.replace("0.3", "nan") * 4 + FINISHED),
        ("overflow", "".join(f"OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2**k}, reducing to {2 ** (k - 1)}\n" for k in range(16, 0, -1))),
        ("peer-ended", HEAD + "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"),
        ("cuda-only-package", HEAD + "ImportError: libcudart.so.11.0: cannot open shared object file: No such file\n\nThe above exception was the direct cause of the following exception:\n\n" + HEAD + "RuntimeError: Failed to import my_models because of the following error (look up to see its traceback):\n"),
    ],
)  # fmt: skip
def test_what_a_program_got_over_is_not_why_it_ended(cause: str, log: str) -> None:
    assert diagnosed(log).cause == cause


def test_a_run_that_went_on_to_its_end_has_not_failed() -> None:
    found = diagnosed("ImportError: cannot import name 'x' from 'apex'\n" + STEP * 4 + FINISHED)
    assert found.confidence is Confidence.NOTHING
    assert found.noise and found.noise[0].why == "the training went on after it"


def test_an_exception_that_no_table_knows_comes_before_those_who_waited() -> None:
    failed = "".join(f"[rank3]: {line}\n" for line in (HEAD + "RuntimeError: batch 7 has no mask").splitlines())
    waited = "".join(f"[rank0]: {line}\n" for line in WAITED.replace("{rank}", "0").splitlines())
    found = diagnosed(failed + waited)
    assert (found.cause, found.confidence) == ("script-error", Confidence.UNKNOWN)
    assert found.exception == "RuntimeError: batch 7 has no mask"


_CAUGHT = """\
WARNING data: cannot read a.jpg, skipped
Traceback (most recent call last):
  File "/data/proj/data.py", line 40, in __getitem__
    raise UnidentifiedImageError(msg)
PIL.UnidentifiedImageError: cannot identify image file 'a.jpg'
"""
_STEPS = "".join(f"step {step} loss: 1.{step}\n" for step in range(4))


def test_an_exception_before_a_training_that_came_to_its_end_was_caught() -> None:
    found = diagnosed(f"{_STEPS}{_CAUGHT}{_STEPS}training finished\n")
    assert found.confidence is Confidence.NOTHING and found.noise[0].why == "the training went on after it"
    assert diagnosed(f"{_STEPS}{_CAUGHT}").cause == "damaged-file"
    assert diagnosed(f"{_STEPS}{_CAUGHT}training finished\n").cause == "damaged-file", "it may be another process's"


def test_the_systems_errors_are_known_in_chinese() -> None:
    assert diagnosed("python: can't open file '/d/train.py': [Errno 2] 没有那个文件或目录\n").cause == "missing-file"
    assert diagnosed("cp: 写入 '/d/a.bin' 出错: 设备上没有空间\n").cause == "disk-full"
    assert diagnosed("bash: ./run.sh: 权限不够\n").cause == "file-permission"


def test_ordinary_lines_of_a_training_are_no_reason_for_a_guess() -> None:
    line = " iteration  10/ 20 | learning rate: 1.0E-05 | lm loss: 2.9E+00 | loss scale: 1.0 | number of skipped iterations: 0 |\n"
    found = diagnosed(f'{line * 3}Traceback (most recent call last):\n  File "/d/a.py", line 3, in run\n    train(\n')
    assert found.cause == "script-error" and "breaks off" in found.why


def test_a_counter_of_failures_that_is_zero_is_none() -> None:
    assert diagnosed("accuracy 0.71, errors: 0, failed requests: 0\n").confidence is Confidence.NOTHING
