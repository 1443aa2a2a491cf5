"""The tables that go into the user's program say what the knowledge tables say."""

from __future__ import annotations

import pytest
from tools.run_tables import FOLDER, TABLES, text

from npuify.knowledge.settings.variables import fact_of, translate
from npuify.run import environment
from npuify.run.advice import TABLE, note_for


@pytest.mark.parametrize("file", TABLES)
def test_they_are_up_to_date(file: str) -> None:
    assert (FOLDER / file).read_text(encoding="utf-8") == text(TABLES[file]()), "run python -m tools.run_tables"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("CUDA_VISIBLE_DEVICES", "1, 0"),
        ("CUDA_VISIBLE_DEVICES", "-1"),
        ("CUDA_VISIBLE_DEVICES", "GPU-1234"),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512,backend:native"),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:16"),
        ("NCCL_ASYNC_ERROR_HANDLING", "3"),
        ("CUDA_LAUNCH_BLOCKING", "1"),
    ],
)
def test_values_are_translated_as_in_scripts(name: str, value: str) -> None:
    fact = fact_of(name)
    assert fact is not None
    wanted = translate(fact, value)
    ours = environment.value_of(name, value)
    assert ours == ((value if wanted.value is None else wanted.value) if wanted.name else None)


def test_variables_that_are_set_already_stay() -> None:
    both = {"CUDA_LAUNCH_BLOCKING": "1", "ASCEND_LAUNCH_BLOCKING": "0", "NCCL_SOCKET_IFNAME": "eth0"}
    assert environment.translated(both) == {"HCCL_SOCKET_IFNAME": "eth0"}


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (AssertionError("Torch not compiled with CUDA enabled"), "npuify migrate"),
        (AttributeError("module 'torch._C' has no attribute '_cuda_getDeviceCount'"), "npuify migrate"),
        (ModuleNotFoundError("No module named 'flash_attn'"), "made for CUDA"),
        (RuntimeError("NPU out of memory. Tried to allocate 1.00 GiB"), "smaller"),
        (RuntimeError("NPU function error: aclrtSetDevice, error code is 107001"), "npuify diagnose"),
        (OSError("CUDA_HOME environment variable is not set."), "extension"),
        (TypeError("'>=' not supported between instances of 'NoneType' and 'int'"), "None on an NPU"),
    ],
)
def test_errors_get_notes(error: Exception, part: str) -> None:
    assert part in note_for(error)
    assert note_for(error).startswith("npuify run: ")


def test_other_errors_get_none() -> None:
    assert not note_for(ValueError("shapes do not fit"))
    assert not note_for(KeyError("cuda"))
    assert len({row.note for row in TABLE}) == len(TABLE)
