"""Broken and strange launchers and configurations: no crash, every edit fits, a second run changes nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuify.rewrite.edits import wanted
from npuify.rewrite.fixpoint import migrate_file
from npuify.source.text import Text, UnreadableText

from ..harness import worker

DATA = Path(__file__).parent.parent / "data" / "launchers"
SEEDS = sorted(path for path in DATA.rglob("*") if ".in" in path.suffixes)
KINDS = ("run.sh", "c.yaml", "c.json", "c.toml", "c.ini", "c.env", "Dockerfile", "Makefile", "justfile")
WORDS = (
    "CUDA_VISIBLE_DEVICES nccl cuda:0 --device --backend= nvidia-smi docker run --gpus all ${ } $( ) \" ' \\ \n \t # : - "
    "{ } [ ] , = <<EOF EOF | ; && export FROM RUN ENV image runtime: nvidia nvidia.com/gpu limits {{ }} {% %} & * ! > `"
).split(" ")


def check(raw: bytes, name: str) -> None:
    result = migrate_file(name, raw, worker(), unsafe=True)
    for error in result.errors:
        assert "npuify failed" not in error.message, error
        assert "was left as it is" not in error.message, error
    try:
        data = Text(raw).data
    except UnreadableText:
        assert result.raw is None
        return
    for finding in result.found:
        for edit in finding.edits:
            assert data[edit.start : edit.end] == edit.before.encode("utf-8", "surrogatepass")
    if result.raw is None:
        return
    again = migrate_file(name, result.raw, worker(), unsafe=True)
    assert again.raw is None, [(change.before, change.after) for change in again.changes]
    # Outside its edits the text is the same, byte for byte.
    first = [edit for finding in wanted(result.found, unsafe=True) for edit in finding.edits]
    kept = bytearray(data)
    for edit in sorted(set(first), reverse=True):
        del kept[edit.start : edit.end]
    position = 0
    for byte in bytes(kept):
        position = result.raw.find(bytes([byte]), position) + 1
        assert position > 0


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=25))
def test_words_in_any_order(name: str, parts: list[str]) -> None:
    check(" ".join(parts).encode("utf-8", "surrogatepass"), name)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=25, deadline=None)
@given(raw=st.binary(max_size=60))
def test_any_bytes(name: str, raw: bytes) -> None:
    check(b"cuda nccl " + raw, name)


def test_settings_of_a_file_that_cannot_be_read_are_told() -> None:
    raw = b"model:\n  device: cuda:0  # the first\n  name: cuda\n model: [\nrun:\n  dist_backend: 'nccl'\n"
    result = migrate_file("train.yaml", raw, worker(), unsafe=True)
    assert result.raw is None
    assert [(one.code, one.start.line, one.start.column, one.edits) for one in result.left] == [
        ("NPU731", 2, 11, ()),
        ("NPU191", 3, 9, ()),
        ("NPU730", 6, 18, ()),
    ]
    assert all("cannot be read: not YAML: " in one.message for one in result.left if one.code != "NPU191")


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
def test_damaged_files(path: Path) -> None:
    name = path.relative_to(DATA).as_posix().replace(".in", "", 1)
    raw = path.read_bytes()
    for seed in range(12):
        chance = random.Random(f"{path.name} {seed}")
        damaged = bytearray(raw)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(damaged))
            step = chance.randrange(3)
            if step == 0:
                del damaged[at : at + chance.randint(1, 30)]
            elif step == 1:
                damaged[at:at] = chance.choice(WORDS).encode() * chance.randint(1, 3)
            else:
                damaged[at : at + 1] = bytes([chance.randrange(256)])
            if not damaged:
                break
        check(bytes(damaged), name)


@pytest.mark.parametrize("name", ["run.sh", "c.yaml", "c.json", "c.toml"])
@pytest.mark.parametrize("opening", ["[", "{", "(", "$(", '"$(', "- ", "if x; then ", "${a:-"])
def test_deep_nesting(name: str, opening: str) -> None:
    check((opening * 5000 + " cuda nccl").encode(), name)
