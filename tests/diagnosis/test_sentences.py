"""What messages say by the kind of their sentence: each row is tried with words that no package writes."""

from __future__ import annotations

import pytest

from npuify.diagnosis.known.sentences import package_for_npus, sentence_match, sentence_of_line
from npuify.diagnosis.model import Frame
from npuify.knowledge.failures.sentences import sentences_known

from .samples import diagnosed

NPU = "/usr/lib/python3.11/site-packages/vllm_ascend/worker/runner.py"
OTHER = "/usr/lib/python3.11/site-packages/library/core.py"
OWN = "/home/user/run.py"
READ = {
    "says-devices-too-few": (OWN, "ValueError: the 8 NPUs of the cluster are fewer than the 16 ranks, total 16"),
    "says-cards-too-few": (OWN, "RuntimeError: 3 visible devices are less than 4 workers"),
    "says-cuda-while-building": (OWN, "RuntimeError: CUDA 12.1 or newer is needed to compile this"),
    "says-cuda-is-asked-for": (OWN, "RuntimeError: fancy layers only run on NVIDIA cards"),
    "says-group-not-initialized": (OWN, "RuntimeError: the world group has not been initialized"),
    "says-package-not-installed": (OWN, "RuntimeError: oddlib needs to be installed for odd files"),
    "says-cann-not-installed": (OWN, "RuntimeError: ASCEND_HOME_PATH is not set on this host"),
    "says-driver-absent": (OWN, "RuntimeError: unable to ask npu-smi for the cards"),
    "says-version-refused": (OWN, "RuntimeError: this oddlib version is too old for the plug-in"),
    "says-may-not": (OWN, "RuntimeError: the folder /data/x is writable by others"),
    "says-file-missing": (OWN, "RuntimeError: the tokenizer of that model could not be found: vocab.json is absent, not found"),
    "says-file-damaged": (OWN, "RuntimeError: index of shard 3 is truncated"),
    "says-shared-memory-full": (OWN, "RuntimeError: the message is larger than the shared memory"),
    "says-host-memory-full": (OWN, "RuntimeError: not enough host memory to keep the states"),
    "says-memory-full": (OWN, "RuntimeError: there are no free cache blocks: no available KV cache"),
    "says-ranks-timed-out": (OWN, "RuntimeError: barrier of all ranks timed out"),
    "says-connection-failed": (OWN, "RuntimeError: peer 3 could not connect"),
    "says-no-connection": (OWN, "RuntimeError: the download of the list timed out"),
    "says-port-taken": (OWN, "RuntimeError: port 3000 is occupied by somebody"),
    "says-process-ended": (OWN, "RuntimeError: the engine core died while it was asked"),
    "says-not-a-number": (OWN, "RuntimeError: found inf in the grad of layer 3"),
    "says-not-for-this-chip": (NPU, "RuntimeError: odd attention is not supported on 310P"),
    "says-dtype-refused": (NPU, "RuntimeError: odd attention only takes bfloat16, not float64"),
    "says-tensor-refused": (NPU, "RuntimeError: the last dim of query should be divisible by 16"),
    "says-demand-unmet": (NPU, "RuntimeError: odd mode cannot be used together with graph mode"),
    "says-package-refuses": (OTHER, "ValueError: odd mode and even mode are exclusive"),
    "kind-says-version": (OTHER, "library.OddVersionError: 3"),
    "kind-says-permission": (OTHER, "library.OddSecurityError: /data/x"),
    "kind-says-missing-file": (OTHER, "library.OddFileNotFound: x"),
    "kind-says-damaged": (OTHER, "library.OddCorruptError: x"),
    "kind-says-network": (OTHER, "library.OddConnectError: x"),
    "kind-says-memory": (OTHER, "library.OddMemoryError: x"),
    "kind-says-setting": (OTHER, "library.OddConfigError: x"),
}  # fmt: skip


def test_every_row_is_read_from_a_message() -> None:
    assert set(READ) == {one.row.name for one in sentences_known()}
    read = {
        name: found.name if (found := sentence_match(text, [Frame(file, 3, "main")])) is not None else ""
        for name, (file, text) in READ.items()
    }
    assert read == {name: name for name in READ}


@pytest.mark.parametrize(
    ("file", "exception", "cause"),
    [
        (NPU, "RuntimeError: odd mode cannot be used together with graph mode", "usage"),
        (OWN, "RuntimeError: odd mode cannot be used together with graph mode", "script-error"),
        (NPU, "ValueError: the handle is None", "script-error"),
        (OWN, "KeyError: 'the port is occupied'", "script-error"),
        # What a table knows by its words comes before the sentence.
        (NPU, "RuntimeError: NPU out of memory, please choose a smaller batch", "out-of-memory"),
    ],
)
def test_who_raised_it_counts_and_words_come_first(file: str, exception: str, cause: str) -> None:
    log = f'Traceback (most recent call last):\n  File "{file}", line 3, in go\n    raise\n{exception}\n'
    assert diagnosed(log).cause == cause


def test_a_package_for_npus_is_told_by_its_folder() -> None:
    assert package_for_npus(NPU) == "vLLM-Ascend"
    assert package_for_npus("/x/triton/backends/ascend/compiler.py") == "triton-ascend"
    assert package_for_npus("/home/user/vllm_ascend.py") == ""


def test_a_line_without_an_exception_is_a_guess() -> None:
    found = diagnosed("[ERROR] odd engine core died\n")
    assert (found.cause, found.confidence.value) == ("peer-ended", "unknown")
    assert "guess" in found.why
    assert sentence_of_line("all 3 shards were read") is None
