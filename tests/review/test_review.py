"""A review: what is decided is what is written, can be taken back, and is never written over another's work."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import npuify
from npuify.model import NpuifyError, Safety
from npuify.options import Options
from npuify.review import Key, Review

OPTIONS = Options(cache=False, jobs=1)
TRAIN = """import torch
import torch.distributed as dist

dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2).cuda()
torch.cuda.synchronize()
"""
SEED = "import torch\n\n\ndef seed(number):\n    torch.cuda.manual_seed_all(number)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "seed.py").write_text(SEED)
    (folder / "plain.py").write_text("x = 1\n")
    (folder / "bad.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    return folder


def key(review: Review, file: str, text: str) -> Key:
    """That of the edit that replaces ``text``."""
    (item,) = [one for one in review.items(file) if text in one.before]
    return item.key


def after(review: Review, file: str) -> str:
    return review.view(file).text


def test_nobody_decides(project: Path, tmp_path: Path) -> None:
    review = Review(project, OPTIONS)
    result, usual = review.result(), npuify.migrate(project, None, OPTIONS, mode="diff")
    assert result == usual
    found = [one for one in review.items() if one.is_finding]
    scan = npuify.scan([project], OPTIONS).findings
    assert sorted((one.file, one.line, one.code, one.message) for one in found) == sorted(
        (one.file, one.start.line, one.code, one.message) for one in scan
    )
    review.write("copy", tmp_path / "out")
    npuify.migrate(project, tmp_path / "expected", OPTIONS)
    for name in ("train.py", "seed.py", "bad.py", "plain.py"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()


def test_an_edit_is_refused(project: Path) -> None:
    review = Review(project, OPTIONS)
    assert "hccl" in after(review, "train.py")
    refused = key(review, "train.py", "nccl")
    review.decide([refused], False)
    text = after(review, "train.py")
    assert "nccl" in text and "torch.npu.synchronize" in text and "import torch_npu" in text
    (item,) = [one for one in review.items("train.py") if one.code == refused.code]
    assert item.state == "refused"
    assert any(one.code == refused.code for one in review.result().left)
    assert not any(one.code == refused.code for one in review.result().changes)
    review.decide([refused], None)
    assert "hccl" in after(review, "train.py")


def test_all_edits_of_a_file_are_refused(project: Path) -> None:
    review = Review(project, OPTIONS)
    keys = [one.key for one in review.items("train.py") if one.state == "made"]
    review.decide(keys, False)
    assert after(review, "train.py") == TRAIN
    assert "train.py" not in review.result().changed_files


def test_a_rule_is_refused_and_one_of_its_edits_accepted(project: Path) -> None:
    review = Review(project, OPTIONS)
    code = next(one.code for one in review.items("seed.py") if "manual_seed_all" in one.before or "cuda" in one.before)
    review.decide_rule(code, False)
    assert after(review, "seed.py") == SEED
    review.decide([key(review, "seed.py", "cuda")], True)
    assert "torch.npu.manual_seed_all" in after(review, "seed.py")
    assert "torch.cuda.synchronize" in after(review, "train.py") or "NPU" not in code
    review.undo(), review.undo()
    assert review.result() == npuify.migrate(project, None, OPTIONS, mode="diff")
    assert not review.can_undo and review.can_redo
    review.redo()
    assert after(review, "seed.py") == SEED
    with pytest.raises(NpuifyError, match="no edit of NPU999"):
        review.decide_rule("NPU999", True)


def test_what_is_to_review_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "p" / "a.py"
    file.parent.mkdir()
    file.write_text("import torch\n\nprint(torch.cuda.nccl.version())\ntorch.cuda.synchronize()\n")
    (file.parent / "run.sh").write_text("#!/bin/sh\nCOUNT=$(nvidia-smi -L | wc -l)\npython a.py --gpus $COUNT\n")
    unsafe = npuify.migrate(file.parent, None, Options(cache=False, jobs=1, unsafe=True), mode="diff")
    review = Review(file.parent, OPTIONS)
    offered = [one for one in review.items() if one.state == "offered"]
    assert offered and all(one.safety is Safety.REVIEW for one in offered)
    review.decide([one.key for one in offered], True)
    assert review.result().diff == unsafe.diff
    assert all(one.state in ("made", "none") for one in review.items())


def test_by_hand(project: Path, tmp_path: Path) -> None:
    review = Review(project, OPTIONS)
    written = after(review, "train.py").replace("Linear(2, 2)", "Linear(3, 3)")
    review.write_by_hand("train.py", written)
    view = review.view("train.py")
    assert view.by_hand and view.text == written
    review.write_by_hand("plain.py", "x = 2\n")
    with pytest.raises(NpuifyError, match=r"train\.py:1"):
        review.write_by_hand("train.py", "def f(:\n")
    assert after(review, "train.py") == written
    with pytest.raises(NpuifyError, match="no file that this scan looked at"):
        review.write_by_hand("../other.py", "x = 1\n")
    done = review.write("copy", tmp_path / "out")
    assert (tmp_path / "out" / "train.py").read_text() == written
    assert (tmp_path / "out" / "plain.py").read_text() == "x = 2\n"
    assert {one.file for one in done.changes if one.code == "BY-HAND"} == {"train.py", "plain.py"}
    review.undo(), review.undo()
    assert "Linear(2, 2)" in after(review, "train.py")


def test_line_ends_and_encoding_of_a_file_written_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "p" / "a.py"
    file.parent.mkdir()
    raw = b"# coding: latin-1\r\nimport torch\r\nname = '\xe9'\r\ntorch.cuda.synchronize()\r\n"
    file.write_bytes(raw)
    review = Review(file.parent, OPTIONS)
    text = after(review, "a.py").replace("\r\n", "\n")
    review.write_by_hand("a.py", text + "x = 1\n")
    review.write("in-place")
    assert file.read_bytes().endswith(b"torch.npu.synchronize()\r\nx = 1\r\n") and b"'\xe9'" in file.read_bytes()
    with pytest.raises(NpuifyError, match="iso8859-1 lacks"):
        Review(file.parent, OPTIONS).write_by_hand("a.py", text + "y = '\u4e2d'\n")


def test_two_reviews_of_one_folder(project: Path) -> None:
    first, second = Review(project, OPTIONS), Review(project, OPTIONS)
    first.decide([key(first, "train.py", "nccl")], False)
    assert "hccl" in after(second, "train.py")
    first.write("in-place")
    now = (project / "train.py").read_text()
    with pytest.raises(NpuifyError, match="has changed"):
        second.write("in-place")
    assert (project / "train.py").read_text() == now and "nccl" in now
    with pytest.raises(NpuifyError, match="has changed"):
        first.write("in-place")


def test_reviews_in_threads(project: Path) -> None:
    texts = []

    def work() -> None:
        texts.append(Review(project, OPTIONS).result().diff)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(texts) == 4 and len(set(texts)) == 1


def test_patch(project: Path, tmp_path: Path) -> None:
    review = Review(project, OPTIONS)
    patch = tmp_path / "npu.patch"
    result = review.write("diff", patch)
    assert patch.read_text() == result.diff != ""
    with pytest.raises(NpuifyError, match="is there already"):
        review.write("diff", patch)
    with pytest.raises(NpuifyError, match="no such folder"):
        review.write("diff", tmp_path / "nowhere" / "npu.patch")


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_file_that_becomes_a_link_out_of_the_project(project: Path, tmp_path: Path) -> None:
    review = Review(project, OPTIONS)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (project / "plain.py").unlink()
    (project / "plain.py").symlink_to(secret)
    with pytest.raises(NpuifyError, match="leads out"):
        review.view("plain.py")


def test_a_failure_of_progress_ends_the_work(project: Path) -> None:
    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Review(project, OPTIONS, cancel)


def test_what_cannot_be_parsed_is_said(project: Path) -> None:
    review = Review(project, OPTIONS)
    view = review.view("bad.py")
    assert view.errors and not view.by_hand
    review.write_by_hand("bad.py", "import torch\ntorch.npu.synchronize(\n")
    assert review.view("bad.py").by_hand


def test_tree(project: Path) -> None:
    tree = {name: (count, changed) for name, count, changed in Review(project, OPTIONS).tree()}
    assert tree["plain.py"] == (0, False)
    assert tree["train.py"][1] and tree["train.py"][0] >= 3
