"""Exceptions that no text tells: by the file that raised them, and by the words with which settings are refused."""

from __future__ import annotations

import pytest

from npuify.diagnosis.known.origins import origin_match
from npuify.diagnosis.model import Confidence, Frame
from npuify.knowledge.failures.causes import causes
from npuify.knowledge.failures.origins import origin_facts

from .samples import diagnosed

PACKAGES = "/e/lib/python3.11/site-packages"
HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'
SHOWN = {
    "raised-by-graph-compiler": f"{PACKAGES}/torch/_inductor/scheduler.py",
    "raised-by-triton": f"{PACKAGES}/triton/backends/ascend/driver.py",
    "raised-by-quantizer-of-bitsandbytes": f"{PACKAGES}/transformers/quantizers/quantizer_bnb_4bit.py",
    "raised-by-build": f"{PACKAGES}/torch/utils/cpp_extension.py",
    "raised-by-starting-command": "/usr/lib/python3.11/subprocess.py",
    "raised-by-reading-weights": f"{PACKAGES}/torch/serialization.py",
    "raised-by-unpickling": "/usr/lib/python3.11/pickle.py",
    "raised-by-reading-media": f"{PACKAGES}/PIL/Image.py",
    "raised-by-rendezvous": f"{PACKAGES}/torch/distributed/rendezvous.py",
    "raised-by-network-client": f"{PACKAGES}/requests/adapters.py",
    "raised-by-model-hub": f"{PACKAGES}/huggingface_hub/file_download.py",
    "raised-by-command-line": f"{PACKAGES}/hydra/core/config_loader.py",
    "raised-by-cann-compiler": "/usr/local/Ascend/cann/python/site-packages/tbe/dsl/base/build.py",
}


def log(file: str, exception: str, function: str = "work") -> str:
    return f'{HEAD}  File "{file}", line 7, in {function}\n    raise\n{exception}\n'


@pytest.mark.parametrize("row", origin_facts(), ids=lambda row: row.name)
def test_an_exception_without_words_is_told_by_its_file(row) -> None:  # type: ignore[no-untyped-def]
    kind = row.kinds[0] if row.kinds else "RuntimeError"
    found = diagnosed(log(SHOWN[row.name], f"{kind}: quite some words"))
    assert (found.cause, found.first.name) == (row.cause, row.name)  # type: ignore[union-attr]
    assert found.why and found.fix and row.cause in causes()


def test_what_is_imported_or_raised_elsewhere_has_no_origin() -> None:
    frames = [Frame("/home/user/train.py", 3, "main")]
    assert origin_match("RuntimeError: words", frames) is None
    frames.append(Frame(SHOWN["raised-by-triton"], 3, "main"))
    assert origin_match("ImportError: words", frames) is None


def test_a_text_that_names_its_cause_counts_more_than_the_file() -> None:
    found = diagnosed(
        log(SHOWN["raised-by-graph-compiler"], "RuntimeError: NPU out of memory. Tried to allocate 2 GiB")
    )
    assert found.cause == "out-of-memory"


@pytest.mark.parametrize(
    ("file", "function", "exception"),
    [
        # By the file or the function, whatever the words.
        (f"{PACKAGES}/vllm/config/model.py", "verify", "ValueError: Streaming and lazy loading are incompatible."),
        ("/home/user/Megatron-LM/megatron/training/arguments.py", "f", "AssertionError: no micro batches"),
        ("/home/user/x/features_manager/moe/moe_router.py", "f", "AssertionError: The group (8) is too large"),
        ("/home/user/lib/transformer.py", "__post_init__", "ValueError: Only one of two can be on"),
        ("/home/user/lib/parallel.py", "_validate_sizes", "ValueError: noop layer is no digit"),
        # By the words, where a package raises them.
        (f"{PACKAGES}/verl/trainer/ppo/core.py", "make", "AssertionError: reward_loop_class_name must be set when it is used"),
        (f"{PACKAGES}/peft/core/layout.py", "apply", "ValueError: `drop_policy` is not supported with `moe_pad`"),
    ],
)  # fmt: skip
def test_a_check_of_settings_is_told(file: str, function: str, exception: str) -> None:
    found = diagnosed(log(file, exception, function))
    if function == "apply":  # a function that computes
        assert found.cause == "script-error"
        return
    assert (found.cause, found.first.name) == ("usage", "settings-checked")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "exception",
    [
        "ValueError: `labels` must be a tensor of the same shape as input_ids",
        "ValueError: not enough values to unpack (expected 13, got 9)",
        "RuntimeError: state_index must be less than num_states",
    ],
)
def test_what_is_about_values_is_no_setting(exception: str) -> None:
    assert diagnosed(log(f"{PACKAGES}/lib/core.py", exception)).cause == "script-error"


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("ERR01001", "invalid-argument"),
        ("ERR00002", "invalid-argument"),
        ("ERR02003", "invalid-argument"),
        ("ERR00006", "out-of-memory"),
        ("ERR01007", "unsupported-operator"),
        ("ERR00008", "cann-not-loaded"),
    ],
)
def test_the_kind_of_a_check_of_torch_npu_tells_what_its_words_do_not(code: str, cause: str) -> None:
    line = f"[ERROR] 2025-01-01-10:00:00 (PID:1, Device:0, RankID:0) {code} OPS some words"
    assert diagnosed(f"{HEAD}RuntimeError: quite some words\n{line}\n").cause == cause


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (
            "ImportError: cannot import name 'x' from 'megatron.core.utils' (/opt/megatron/megatron/core/utils.py)",
            False,
        ),
        ("ImportError: cannot import name 'x' from 'megatron.core.utils'", False),
        ("ImportError: cannot import name 'x' from 'utils.tools' (/home/user/utils/tools.py)", True),
        ("ImportError: cannot import name 'x' from 'mine.tools' (/home/user/mine/tools/__init__.py)", True),
    ],
)
def test_a_name_that_a_module_lacks(message: str, own: bool) -> None:
    """In another project it is another release; in the program's own it is the program's mistake."""
    assert diagnosed(HEAD + message + "\n").cause == ("script-error" if own else "version-mismatch")


@pytest.mark.parametrize(
    ("line", "about", "cause"),
    [
        ("ERROR: nvidia-persistenced could not be reached", "nvidia", "cuda-machine"),
        ("[ERROR] HCCL(7,python): [x.cc:1] something of a later release failed", "HCCL", "link-setup"),
        ("[ERROR] TEFUSION(7,python): [x.cc:1] something of a later release failed", "compiler", "operator-compile"),
        ("[ERROR] GE(7,python): [x.cc:1] something of a later release failed", "graph", "operator-compile"),
        ("[ERROR] TDT(7,python): [x.cc:1] something of a later release failed", "service", "device-start"),
        ("[ERROR] DRV(7,python): [x.cc:1] something of a later release failed", "driver", "driver-internal"),
        ("ERROR the volcano admission of vcjob failed", "scheduler", "not-scheduled"),
    ],
)
def test_unknown_lines_get_a_guess_that_is_called_one(line: str, about: str, cause: str) -> None:
    found = diagnosed(line + "\n")
    assert (found.cause, found.confidence) == (cause, Confidence.UNKNOWN)
    assert found.why.startswith("A guess by words alone") and about.lower() in found.why.lower()
    assert found.excerpt and found.fix and found.first is None


def test_lines_about_nothing_in_particular_stay_unknown() -> None:
    found = diagnosed("ERROR: flurble failed\n")
    assert (found.cause, found.confidence, found.why) == ("", Confidence.UNKNOWN, "")


@pytest.mark.parametrize(
    ("owner", "cause"),
    [
        ("LlamaModel", "version-mismatch"),
        ("Qwen2ForCausalLM", "version-mismatch"),
        ("DPOPeftTrainer", "version-mismatch"),
        ("TrainingArguments", "version-mismatch"),
        ("AdamW", "version-mismatch"),
        ("MyModel", "script-error"),
        ("NoneType", "script-error"),
        ("Namespace", "script-error"),
    ],
)
def test_a_class_of_a_library_without_an_attribute(owner: str, cause: str) -> None:
    assert diagnosed(f"AttributeError: '{owner}' object has no attribute 'some_thing'\n").cause == cause


def test_a_command_that_failed_is_told_by_who_started_it() -> None:
    frame = f'  File "{PACKAGES}/triton/backends/ascend/compiler.py", line 7, in compile\n    run()\n'
    found = diagnosed(
        f"{HEAD}{frame}"
        + log("/usr/lib/python3.11/subprocess.py", "subprocess.CalledProcessError: Command '['x']' died").removeprefix(
            HEAD
        )
    )
    assert found.cause == "operator-compile"
