"""Names that packages and Python dropped, and what else exceptions say beside their first line."""

from __future__ import annotations

import json
import re

import pytest

from npuify.diagnosis.known.gone import gone_match, gone_names
from npuify.diagnosis.wrapped import lines_within

from .samples import diagnosed

HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'


def _order(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


@pytest.mark.parametrize("name", sorted(gone_names()))
def test_each_name_is_answered_with_its_release(name: str) -> None:
    row = gone_names()[name]
    module, _, last = name.rpartition(".")
    texts = [f"ModuleNotFoundError: No module named '{name}'"] if not row.names else []
    if row.names and row.module[0].isupper():
        texts.append(f"AttributeError: '{module}' object has no attribute '{last}'")
    elif row.names:
        texts.append(f"AttributeError: module '{module}' has no attribute '{last}'")
        texts.append(f"ImportError: cannot import name '{last}' from '{module}' (/e/site-packages/x.py)")
    for text in texts:
        found = diagnosed(HEAD + text + "\n")
        assert found.cause == row.cause, text
        assert row.gone in found.why or row.cause == "numpy-2", text


@pytest.mark.parametrize("name", sorted(gone_names()))
def test_a_row_names_the_releases_that_were_asked(name: str) -> None:
    row = gone_names()[name]
    asked = re.findall(r"\d+(?:\.\d+)+", row.source)
    numbers = [number.split(".") for number in re.findall(r"\d+(?:\.\d+)*", row.gone)]
    first = numbers[0]
    assert len(asked) >= 2 and any(one.split(".")[: len(first)] == first for one in asked), row.source
    assert any(_order(one) < min(_order(".".join(number)) for number in numbers) for one in asked), row.source


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("numpy.trapz", "NumPy 2.4"),
        ("numpy.product", "NumPy 2.0"),
        ("transformers.AdamW", "Transformers 4.50"),
        ("huggingface_hub.cached_download", "huggingface_hub 0.26"),
        ("torchvision.transforms.Scale", "torchvision 0.12"),
        ("matplotlib.cm.register_cmap", "Matplotlib 3.9"),
        ("pandas.Panel", "pandas 1.2"),
    ],
)
def test_names_of_one_package_have_each_their_own_release(name: str, release: str) -> None:
    assert gone_names()[name].gone == release


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: module 'numpy' has no attribute 'linspce'",
        "AttributeError: 'Trainer' object has no attribute 'append'",
        "ImportError: cannot import name 'load' from 'utils' (/home/user/utils.py)",
    ],
)
def test_other_names_are_not_known_to_be_gone(text: str) -> None:
    assert gone_match(text) is None


def test_what_a_worker_raised_has_the_workers_place() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in <module>\n    for x in loader:\n'
        "ValueError: Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        '  File "/home/user/data.py", line 31, in __getitem__\n    raise ValueError("odd")\nValueError: odd\n'
    )
    found = diagnosed(log)
    assert found.frame is not None and found.frame.file == "/home/user/data.py" and found.exception == "ValueError: odd"


def test_a_message_that_announces_lines_has_the_first_of_them() -> None:
    found = diagnosed(
        HEAD + 'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "a".\n'
    )
    assert found.exception.endswith('Missing key(s) in state_dict: "a".')


def test_ranks_that_did_not_come_are_named() -> None:
    found = diagnosed(
        "[ERROR] HCCL(9,python):2026-10-01-09:02:01.001.001 [a.cc:3][4]topo exchange server get socket timeout! timeout[120 s]\n"
        "[ERROR] HCCL(9,python):2026-10-01-09:02:01.001.011 [a.cc:4][4]unconnected rankId[3] unconnected rankId[5]\n"
    )
    assert found.waited_for == ("3", "5") and any("3, 5" in note for note in found.notes)


def test_the_code_of_hccl_counts_more_than_that_of_the_stream() -> None:
    stream = "RuntimeError: ACL stream synchronize failed, error code:507018\n"
    hccl = "EI0013: [PID: 6] 2026-10-10-10:10:10.000.001 An error CQE occurred during operator execution.\n"
    assert diagnosed(stream).cause == "aicpu-exception"
    assert diagnosed(stream + hccl).cause == "network-link"
    crashed = "RuntimeError: ACL stream synchronize failed, error code:507015\n"
    assert diagnosed(crashed + hccl).cause == "kernel-exception"


def test_an_assertion_that_names_a_setting_is_about_that() -> None:
    frame = 'Traceback (most recent call last):\n  File "/home/user/megatron/data.py", line 8, in build\n'
    settings = frame + "    assert args.train_samples is None, \\\nAssertionError: only iteration-based training\n"
    assert diagnosed(settings).cause == "usage"
    assert diagnosed(f"{frame}    assert len(rows) == 3\nAssertionError: odd rows\n").cause == "script-error"
    shapes = f"{frame}    assert x.shape[1] == args.width\nAssertionError\n"
    assert diagnosed(shapes).cause == "script-error"


def test_dockers_own_files_and_messages_within_json_are_read() -> None:
    written = (
        "Traceback (most recent call last):",
        '  File "/srv/app/run.py", line 7, in <module>',
        "KeyError: 'port'",
    )
    docker = "".join(
        json.dumps(
            {"log": f"{line}\n", "stream": "stderr", "time": f"2026-01-01T00:00:0{number}Z"}, separators=(",", ":")
        )
        + "\n"
        for number, line in enumerate(written)
    )
    message = json.dumps({"level": "ERROR", "message": "\n".join(written)}) + "\n"
    for log in (docker, message, 'not json\n{"log":"odd\n' + message):
        found = diagnosed(log)
        assert (found.cause, found.exception) == ("script-error", "KeyError: 'port'")
        assert found.frame is not None and found.frame.file == "/srv/app/run.py"
    assert lines_within(b'{"a": 1}') == [] and lines_within(b'{"Error\\n": broken') == []
