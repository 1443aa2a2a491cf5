"""Guesses by the words that lines share with what is known of a cause; whose a library, header or name is."""

from __future__ import annotations

import errno
import os
import re

import pytest

from npuify.diagnosis.known.nearest import nearest, terms, words_of
from npuify.diagnosis.known.owners import owner_match, owners, system_match
from npuify.diagnosis.model import Confidence
from npuify.knowledge.failures.causes import causes, exception_fact

from .samples import FOLDER, diagnosed, samples

HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'


def test_general_terms_are_no_line_of_a_collected_failure() -> None:
    logs = [words_of(row["lines"]) for file in FOLDER.glob("*.toml") for row in samples(file.stem)]
    assert len({one.cause for one in terms()}) > 60 and {one.cause for one in terms()} <= set(causes())
    for row in terms():
        for words in row.words:
            assert 3 <= len(words.split()) <= 16, words
            assert all(set(words.split()) != log for log in logs), words


def test_words_are_those_that_say_something() -> None:
    found = words_of(
        'Traceback (most recent call last):\n  File "/e/site-packages/peft/model.py", line 1, in f\n    x = 0x7f\n'
        "RuntimeError: HcclAllReduce failed on /home/somebody/x, ret 507015"
    )
    assert {"hccl", "all", "reduce", "507015", "in:peft", "kind:RuntimeError"} <= found
    assert not found & {"traceback", "recent", "somebody", "7f"}


def test_a_row_is_nearest_to_its_own_terms() -> None:
    row = next(one for one in terms() if one.cause == "rank-table")
    first = nearest(row.words[0])[0]
    assert first.cause == "rank-table" and first.likeness > 0.9 and 0 < first.share <= 1


def test_a_short_excerpt_without_a_known_line_gets_a_guess_with_its_source() -> None:
    found = diagnosed("Loading weights took 61 GB\nMemory that is available to the KV cache: -3.1 GiB\n")
    assert (found.confidence, found.cause) == (Confidence.UNKNOWN, "out-of-memory")
    assert found.why.startswith("A guess by words alone") and (not found.source or found.source in found.why)
    assert found.excerpt and found.excerpt[0].line == 1


@pytest.mark.parametrize(
    "log",
    [
        "epoch 1 done in 12 s\nsaved to out/1.pt\n",
        "step 10 loss: 2.1\nstep 20 loss: 2.0\nstep 30 loss: 1.9\n3 keys missing, 0 failed\n",
        "WARNING: cannot use the fancy mode, using the plain one\n",
        "the flurble failed\n",
        "all good\n" * 80 + "gradual change of the accelerator label refused by the scheduler of the node\n",
    ],
)
def test_good_runs_and_words_without_meaning_get_none(log: str) -> None:
    assert diagnosed(log).cause == ""


@pytest.mark.parametrize("text", ["RuntimeError: batch 7 has no mask", "ValueError: the frobnicator is upside down"])
def test_an_exception_like_no_other_stays_the_programs(text: str) -> None:
    assert diagnosed(HEAD + text + "\n").cause == "script-error"


OWNED = [
    ("ImportError: libcusparseLt.so.0: cannot open shared object file: No such file or directory", "cuda-only-package"),
    ("ImportError: libnvinfer.so.8: cannot open shared object file: No such file or directory", "cuda-only-package"),
    ("OSError: libdrvdsmi_host.so: cannot open shared object file: No such file or directory", "driver-not-visible"),
    ("OSError: libge_common.so: cannot open shared object file: No such file or directory", "cann-not-loaded"),
    ("OSError: libasdops.so: cannot open shared object file: No such file or directory", "nnal-missing"),
    ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "library-path"),
    ("/usr/bin/ld: cannot find -lascendcl", "build-setup"),
    ("bash: hccn_tool: command not found", "driver-not-visible"),
    ("run.sh: line 3: msprof: command not found", "cann-not-loaded"),
    ('exec: "nvidia-smi": executable file not found in $PATH: unknown', "cuda-left"),
    ("bash: jq: command not found", "missing-package"),
    ("op.cpp:3:10: fatal error: acl/acl.h: No such file or directory", "build-setup"),
    ("a.cpp:1:10: fatal error: 'torch_npu/csrc/core/npu/NPUStream.h' file not found", "build-setup"),
    ("a.cpp:1:10: fatal error: atb/operation.h: No such file or directory", "nnal-missing"),
    ("a.cpp:1:10: fatal error: cuda_fp16.h: No such file or directory", "cuda-only-package"),
    ("a.cpp:1:10: fatal error: torch/extension.h: No such file or directory", "build-setup"),
    ("a.c:1:10: fatal error: Python.h: No such file or directory", "build-setup"),
    ("NameError: name 'flash_attn_func' is not defined", "cuda-only-package"),
    ("NameError: name 'TENorm' is not defined", "cuda-only-package"),
    ("NameError: name 'MixedFusedLayerNorm' is not defined", "cuda-only-package"),
    ("NameError: name 'FusedRMSNormFunction' is not defined", "cuda-only-package"),
    ("NameError: name 'FusedMixedPrecisionLamb' is not defined", "cuda-only-package"),
    ("NameError: name 'generic_scaled_masked_softmax_cuda' is not defined", "cuda-only-package"),
    ("NameError: name 'memory_efficient_attention' is not defined", "cuda-only-package"),
    ("NameError: name 'str2optimizer8bit_blockwise' is not defined", "cuda-only-package"),
    ("NameError: name 'selective_scan_fn' is not defined", "cuda-only-package"),
    ("NameError: name 'pynvml' is not defined", "cuda-only-package"),
    ("NameError: name 'tl' is not defined", "triton-conflict"),
    ("NameError: name 'torch_npu' is not defined", "torch-npu-missing"),
    ("subprocess.CalledProcessError: Command '['/opt/bin/bishengir-compile', 'a.mlir']' returned non-zero exit status 1.", "operator-compile"),
    ("subprocess.CalledProcessError: Command 'sbatch /tmp/1.sh' returned non-zero exit status 1.", "not-scheduled"),
    ("subprocess.CalledProcessError: Command '['cmake', '..']' returned non-zero exit status 1.", "build-setup"),
    ("subprocess.CalledProcessError: Command '['cmake', '..', '-DX_WITH_CUDA=1']' returned non-zero exit status 1.", "cuda-only-package"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "cause"), OWNED)
def test_a_library_or_command_is_told_by_its_owner(line: str, cause: str) -> None:
    assert diagnosed(line + "\n").cause == cause


def test_each_row_of_owners_is_reached() -> None:
    reached = {found.name for line, _ in OWNED if (found := owner_match(line)) is not None}
    reached |= {
        found.name
        for line in (
            "ImportError: libc10.so: cannot open shared object file: No such file or directory",
            "subprocess.CalledProcessError: Command '['git', 'clone', 'x']' returned non-zero exit status 128.",
            "subprocess.CalledProcessError: Command '['nvcc', '--version']' returned non-zero exit status 1.",
        )
        if (found := owner_match(line)) is not None
    }
    assert {row.name for _, row in owners()} == reached
    for pattern, _ in owners():
        assert isinstance(pattern, re.Pattern)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("what(): thread: Resource temporarily unavailable [system:11]", errno.EAGAIN),
        ("Error: Os { code: 28 } No space left on device (os error 28)", errno.ENOSPC),
        (f"open pool: {os.strerror(errno.EMFILE)}", errno.EMFILE),
        (f"write: {os.strerror(errno.EROFS)}", errno.EROFS),
    ],
)
def test_errors_of_the_system_are_told_by_number_or_words(line: str, number: int) -> None:
    found, fact = system_match(line), exception_fact("", number)
    assert found is not None and fact is not None and found.cause == fact.cause


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("TypeError: FluxTransformer2DModel.forward() got an unexpected keyword argument 'x'", "version-mismatch"),
        ("TypeError: Trainer.fit() got an unexpected keyword argument 'x'", "script-error"),
        ("TypeError: Net.forward() got an unexpected keyword argument 'x'", "script-error"),
        ("KeyError: 'NODE_RANK'", "launched-alone"),
        ("KeyError: 'SLURM_JOB_ID'", "launched-alone"),
        ("KeyError: 'RANKS'", "script-error"),
    ],
)
def test_calls_of_library_classes_and_variables_of_launchers(line: str, cause: str) -> None:
    assert diagnosed(HEAD + line + "\n").cause == cause


def test_torchs_modules_are_not_who_asked_for_an_attribute() -> None:
    asked = (
        '  File "/e/lib/python3.10/site-packages/peft/peft_model.py", line 408, in __getattr__\n    return super()\n'
    )
    torch = (
        '  File "/e/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1614, in __getattr__\n    raise\n'
    )
    found = diagnosed(HEAD + asked + torch + "AttributeError: type object 'PeftModel' has no attribute 'x'\n")
    assert found.cause == "version-mismatch" and "peft" in found.why


def test_an_exception_behind_frames_in_one_line_is_found() -> None:
    line = '(W pid=1) ERROR 07-03 19:33:28 [a.py:1] File "/e/vllm/m.py", line 213, in f (W pid=1) RuntimeError: NPU out of memory.\n'
    assert diagnosed(line).cause == "out-of-memory"
