"""Reading: any bytes, in any pieces, of any length, with memory that does not grow."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuify.diagnosis.collect import Collector
from npuify.diagnosis.judge import judge
from npuify.diagnosis.lines import codes_in, split_head, time_of
from npuify.diagnosis.reading import rank_of_path

from .samples import diagnosed, samples

if TYPE_CHECKING:
    from pathlib import Path

LINES = [line for sample in samples("tuned") for line in sample["lines"].splitlines()]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=80)), max_size=30), st.integers(1, 4000))
def test_pieces_change_nothing(lines: list[str], piece: int) -> None:
    text = "\n".join(lines)
    whole, parts = diagnosed(text), diagnosed(text, piece=piece)
    assert parts == whole


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000), st.integers(1, 500))
def test_no_bytes_raise(data: bytes, piece: int) -> None:
    collector = Collector()
    collector.start_file("x")
    for start in range(0, len(data), piece):
        collector.feed(data[start : start + piece])
    collector.end_file()
    msgspec.json.encode(judge(collector))


def test_text_that_never_repeats_is_read_as_well_as_text_that_does() -> None:
    rng = random.Random(3)
    words = [f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400)]
    unlike = [" ".join(rng.choices(words, k=9)) for _ in range(60_000)]
    place = 45_321
    unlike[place] = "[rank3]: RuntimeError: NPU out of memory. Tried to allocate 5 GiB"
    found = diagnosed("\n".join(unlike), piece=1 << 18)
    assert found.cause == "out-of-memory" and found.lines == len(unlike)
    assert found.first is not None and found.first.place.line == place + 1


def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuify.diagnosis.sift.SHAPES", 1000)
    monkeypatch.setattr("npuify.diagnosis.collect.SAID", 1000)
    rng = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def feed(collector: Collector, blocks: int) -> None:
        for _ in range(blocks):
            lines = (f"[ERROR] {''.join(rng.choices(letters, k=12))} failed {rng.random()}" for _ in range(500))
            collector.feed("\n".join(lines).encode() + b"\n")

    collector = Collector()
    collector.start_file("x")
    tracemalloc.start()
    feed(collector, 4)
    first = tracemalloc.get_traced_memory()[0]
    feed(collector, 12)
    second = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert second < first * 1.3 + 200_000


def test_a_progress_bar_without_line_ends() -> None:
    bar = "".join(f"\r{percent}%|####| {percent}/100 [00:01<00:02, 1.1it/s]" for percent in range(5000))
    found = diagnosed(bar + "\nRuntimeError: NPU out of memory. Tried to allocate 1 GiB\n", piece=4096)
    assert found.cause == "out-of-memory"


def test_repeated_messages_are_counted() -> None:
    line = "RuntimeError: NPU out of memory. Tried to allocate {} MiB\n"
    found = diagnosed("".join(line.format(number) for number in range(500)))
    assert found.first is not None and found.first.count == 500 and found.first.place.line == 1


def test_addresses_do_not_make_messages_different() -> None:
    line = "RuntimeError: NPU out of memory. Tried to allocate 1 MiB at 0x{:x}\n"
    found = diagnosed("".join(line.format(number * 7919) for number in range(300)))
    assert found.first is not None and found.first.count == 300


def test_codes_that_differ_in_digits_only_are_told_apart() -> None:
    log = "x: NPU function error: a, error code is 507000\nx: NPU function error: a, error code is 507054\n"
    assert diagnosed(log).cause == "device-fault"


@pytest.mark.parametrize(
    ("line", "key", "rank", "message"),
    [
        ("[rank3]: hello", "rank 3", "3", "hello"),
        ("[default7]:hello", "rank 7", "7", "hello"),
        ("[1,5]<stderr>: hello", "rank 5", "5", "hello"),
        ("12: hello", "rank 12", "12", "hello"),
        ("worker-1: EH9999: x", "worker-1", "", "EH9999: x"),
        (
            "(Worker_TP1 pid=465) ERROR 02-09 17:11:36 [multiproc_executor.py:751] hello",
            "Worker_TP1 pid=465",
            "",
            "hello",
        ),
        (
            "(EngineCore_DP0 pid=1) [rank7]:[W609 06:57:47.8 x.ts:1] hello",
            "EngineCore_DP0 pid=1",
            "7",
            "[W609 06:57:47.8 x.ts:1] hello",
        ),
        ("\x1b[31m[rank0]: hello\x1b[0m", "rank 0", "0", "hello"),
        ("hello", "", "", "hello"),
    ],
)
def test_prefixes_of_launchers(line: str, key: str, rank: str, message: str) -> None:
    head = split_head(line)
    assert head.message == message
    assert head.rank == rank and (head.key == key or rank)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("EI0006: 2024-08-05-18:15:21.270.506 Getting", "2024-08-05-18:15:21.270.506"),
        ("2024-08-05 18:15:21,123 - INFO", "2024-08-05 18:15:21,123"),
        ("2024-08-05T18:15:21Z", "2024-08-05T18:15:21"),
        ("05/17/2024 01:30:26 - WARNING", "05/17/2024 01:30:26"),
        ("ERROR 03-25 06:14:02 [x]", "03-25 06:14:02"),
        ("[W609 06:57:47.819535026 compiler_depend.ts:877]", "W609 06:57:47.819535026"),
        ("no time here 12:30", ""),
    ],
)
def test_times(text: str, shown: str) -> None:
    assert time_of(text)[0] == shown


def test_times_of_one_run_are_in_order() -> None:
    texts = ["2024-12-31 23:59:59,999", "2025-01-01-00:00:00.001.002", "2025-01-01 00:00:01", "2025/02/01 00:00:00"]
    seconds = [time_of(text)[1] for text in texts]
    assert seconds == sorted(seconds)


def test_codes_of_three_grammars() -> None:
    text = "[ERROR] 2024 (PID:1) ERR00100 PTA; error code is 507015; runtime result = 107020. EZ9999: Inner; errno:561003 E40021"
    assert codes_in(text) == ["ERR00100", "507015", "107020", "EZ9999", "561003", "E40021"]
    assert codes_in("port 507015 and 123456, E12 EX12345") == []


@pytest.mark.parametrize(
    ("path", "rank", "pid"),
    [
        ("logs/none_abc/attempt_0/3/stderr.log", "3", ""),
        ("logs/rank_12.log", "12", ""),
        ("logs/rank7/out.txt", "7", ""),
        ("logs/worker-2.log.gz", "2", ""),
        ("ascend/log/debug/plog/plog-4711_20250101.log", "", "4711"),
        ("logs/train.log", "", ""),
    ],
)
def test_ranks_in_names_of_files(path: str, rank: str, pid: str) -> None:
    assert rank_of_path(PurePath(path)) == (rank, pid)


@pytest.mark.skipif(sys.platform == "win32", reason="reads a pipe")
def test_a_log_that_is_still_being_written_is_told_about_at_once() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "npuify", "diagnose", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"step 1\n[rank0]: RuntimeError: NPU out of memory. Tried to allocate 5 GiB\nstep 2\n")
        process.stdin.flush()
        line = process.stdout.readline()  # the log goes on: what waits for its end is never read here
        assert b"so far, line 2" in line and b"[out-of-memory]" in line
        process.stdin.close()
        rest = process.stdout.read().decode()
    assert "The card's memory is full." in rest and process.returncode == 1


def test_a_folder_of_many_files(tmp_path: Path) -> None:
    import npuify

    for number in range(300):
        (tmp_path / f"rank{number}.log").write_text(f"step {number}\n" * 20)
    (tmp_path / "rank205.log").write_text("OSError: [Errno 28] No space left on device\n")
    found = npuify.diagnose([tmp_path])
    assert (found.cause, found.first and found.first.rank, found.files) == ("disk-full", "205", 300)


@pytest.mark.parametrize(
    ("line", "rank", "message"),
    [
        ("agent-1  | KeyError: 'x'", "", "KeyError: 'x'"),
        ("2024-09-26 06:12:44 | ERROR | stderr | KeyError: 'x'", "", "KeyError: 'x'"),
        ("run.cn-n001.log [stderr] [rank11]: KeyError: 'x'", "11", "KeyError: 'x'"),
        ("[2024-02-27T21:35:28.726901Z] fa88a9df [rank=1] || KeyError: 'x'", "1", "KeyError: 'x'"),
        ("2025-01-02 03:04:05 [rank3]: KeyError: 'x'", "3", "KeyError: 'x'"),
        ("ValueError: bad [rank3]: x", "", "ValueError: bad [rank3]: x"),
    ],
)
def test_launchers_prefixes_are_taken_off(line: str, rank: str, message: str) -> None:
    head = split_head(line)
    assert (head.rank, head.message) == (rank, message)


@pytest.mark.parametrize(
    ("last", "cause", "says"),
    [
        ('lib/python3.10/site-packages/bitsandbytes/nn/modules.py", line 7, in <module>', "cuda-only-package", ""),
        (
            'lib/python3.10/site-packages/transformers/m.py", line 9, in _i\n    cls._check_and_enable_flash_attn_2(',
            "cuda-only-package",
            "",
        ),
        (
            'lib/python3.10/site-packages/x/__init__.py", line 9, in <module>\n    from . import y',
            "version-mismatch",
            "x",
        ),
        ('home/train.py", line 9, in main\n    loss.backward()', "script-error", "breaks off"),
    ],
)
def test_a_traceback_without_its_end_is_told_by_its_last_frame(last: str, cause: str, says: str) -> None:
    found = diagnosed(
        f'step 1\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>\n  File "/{last}\n'
    )
    assert found.cause == cause and says in found.why
    assert found.confidence.value != "nothing"


def test_a_launchers_traceback_without_its_end_says_nothing() -> None:
    log = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: py\n"
    run = 'Traceback (most recent call last):\n  File "/opt/lib/python3.10/site-packages/torch/distributed/run.py", line 9, in'
    assert diagnosed(f"{log}{run} run\n").cause == "peer-ended"


def test_the_file_that_a_parser_names_belongs_to_the_exception() -> None:
    log = 'Traceback (most recent call last):\n  File "m.py", line 1, in <module>\nyaml.scanner.ScannerError: found a tab\n'
    assert diagnosed(log + '  in "/d/config.yaml", line 3, column 1\n').exception.endswith(
        'in "/d/config.yaml", line 3'
    )


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        # An exception of an import that is passed on without its kind.
        (("RuntimeError: Failed to import a.b because of the following error (look up to see its traceback):\n"
         "cannot import name 'Odd' from 'transformers.odd' (/x/site-packages/transformers/odd.py)"), "version-mismatch"),
        ("TypeError: OddTrainer.compute_loss() got an unexpected keyword argument 'odd'", "version-mismatch"),
        ("TypeError: odd() got an unexpected keyword argument 'cache_position'", "version-mismatch"),
        ("TypeError: odd() got an unexpected keyword argument 'odd'", "script-error"),
        ("AttributeError: module 'numpy.odd' has no attribute '_odd'", "version-mismatch"),
        # Exit codes.
        ("worker ended (exitcode: -7)", "shared-memory"),
        ("step exited with code 126", "file-permission"),
        ("step exited with code 127", "missing-package"),
        ("step exited with code 124", "interrupted"),
        ("command returned non-zero exit status 3221225477", "crash"),
        ("exit status -8", "crash"),
        # A frame as IPython wrote it before its release 8.
        (("RuntimeError     Traceback (most recent call last)\n/x/site-packages/torch/serialization.py in load(f, **kw)\n"
         "--> 12     return _load(f)\n"), "damaged-file"),
        # What tells more comes before a traceback that is cut behind it.
        (('Please check rank 0 logs for faulty rank.\nTraceback (most recent call last):\n'
         '  File "/home/user/a.py", line 3, in go\n    go()\n'), "peer-ended"),
    ],
)  # fmt: skip
def test_what_the_rounds_taught_as_classes(log: str, cause: str) -> None:
    assert diagnosed(f"{log}\n").cause == cause


def test_what_says_that_the_program_goes_on_is_no_failure() -> None:
    found = diagnosed("Could not write. Will ignore error and continue. Error: [Errno 13] Permission denied: '/x'\n")
    assert found.confidence.value == "nothing"
