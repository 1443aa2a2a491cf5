"""Mutated real code: no crash, no byte lost, what parsed still parses, and a second run changes nothing."""

from __future__ import annotations

import difflib
import random
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from npuify.engine.worker import parses
from npuify.source.text import Text, UnreadableText

from .harness import migrated, worker
from .real_code import ALL, MODULES, damaged, text_of, with_cuda, with_lines

if TYPE_CHECKING:
    from npuify.model import Edit

SEEDS = 8 if ALL else 2


def check(raw: bytes) -> None:
    """What must hold for any file at all."""
    result = migrated(raw)
    for error in result.errors:
        assert "npuify failed" not in error.message, error
        assert "was left as it is" not in error.message, error
    for finding in result.found:
        assert_edits_fit(raw, list(finding.edits))
    if result.raw is None:
        assert not result.changes
        return
    assert parses(Text(raw).data)
    assert parses(Text(result.raw).data)
    again = migrated(result.raw)
    assert again.raw is None, [change.after for change in again.changes]
    assert_nothing_else_changed(raw, result.raw)


def assert_edits_fit(raw: bytes, edits: list[Edit]) -> None:
    data = Text(raw).data
    for one, other in pairwise(sorted(edits)):
        assert one.end <= other.start
    for edit in edits:
        assert data[edit.start : edit.end] == edit.before.encode()


_NEW = re.compile(rb"npu|NPU|hccl|HCCL|ASCEND|None|OutOfMemory|manual_seed|device", re.IGNORECASE)


def assert_nothing_else_changed(old: bytes, new: bytes) -> None:
    """Lines are changed where they name CUDA, and added where they import torch_npu; all others stay, in order."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        assert kind != "delete", before[start:end]
        for line in before[start:end]:
            assert re.search(rb"cuda|nccl|torch", line, re.IGNORECASE), line
        for line in after[new_start:new_end]:
            assert _NEW.search(line), line


@pytest.mark.parametrize("module", MODULES)
def test_code_without_cuda_is_not_touched(module: str) -> None:
    result = migrated(text_of(module))
    assert result.raw is None
    assert not result.errors


@pytest.mark.parametrize("module", MODULES)
def test_code_with_cuda_put_in(module: str) -> None:
    for seed in range(SEEDS):
        chance = random.Random(f"{module} {seed}")
        newline = chance.choice(["\n", "\n", "\r\n", "\r"])
        text = with_cuda(text_of(module), chance)
        check(text.replace("\n", newline).encode())


@pytest.mark.parametrize("module", MODULES)
def test_damaged_code(module: str) -> None:
    for seed in range(SEEDS):
        chance = random.Random(f"{module} {seed}")
        check(damaged(with_cuda(text_of(module), chance), chance).encode())


@pytest.mark.parametrize("module", MODULES[::4])
def test_damaged_bytes(module: str) -> None:
    chance = random.Random(module)
    raw = bytearray(with_cuda(text_of(module), chance).encode())
    for _ in range(3):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    try:
        Text(bytes(raw))
    except UnreadableText:
        assert migrated(bytes(raw)).raw is None
    else:
        check(bytes(raw))


CALLS = ("torch.cuda.is_available()", "import torch as T; T.cuda.init()", "tt.cuda.CUDAGraph(); self.model.cuda()")
QUIET = (
    "import torch",
    "global torch; torch = 1",
    "torch = None",
    "tt = torch",
    "self.model = torch.nn.Linear(1, 1)",
    "(torch := 1)",
    "def torch(): pass",
    "x = '\"'; y = '''\ndef torch(): pass\n'''",
)
"""Lines that none of the rules looks for, which decide what the others mean."""


@pytest.mark.parametrize("module", MODULES)
def test_parsing_only_what_matters_finds_what_parsing_all_finds(module: str) -> None:
    one = worker()
    for seed in range(2 * SEEDS):
        chance = random.Random(f"outline {module} {seed}")
        text = with_cuda(text_of(module), chance, chance.randrange(1, 4), CALLS)
        text = with_cuda(text, chance, chance.randrange(3), QUIET)
        text = with_lines(text, chance, chance.randrange(3), QUIET)
        raw = text.encode()
        if parses(raw):
            assert one.analyse("a.py", raw, whole=False) == one.analyse("a.py", raw, whole=True)
