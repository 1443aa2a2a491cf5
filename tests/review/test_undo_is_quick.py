"""What a decision does not concern is not worked out again: on large projects each would take as long as a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.options import Options
from npuify.review import Review
from npuify.rewrite import plan

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_only_what_a_decision_concerns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("import torch\ntorch.cuda.synchronize()\nx = torch.ones(2).cuda()\n")
    review = Review(tmp_path, Options(cache=False, jobs=1))
    review.result()
    migrated: list[str] = []
    real = plan.migrate_file

    def counted(relative: str, *arguments: object, **more: object) -> object:
        migrated.append(relative)
        return real(relative, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(plan, "migrate_file", counted)
    monkeypatch.setattr(type(review._draft._prepared), "scan_result", None)
    item = next(one for one in review.items("a.py") if one.code == "NPU110")
    review.decide([item.key], False)
    assert ".cuda()" in review.view("a.py").text
    assert migrated == ["a.py"]
    review.decide_rule("NPU110", False)
    assert sorted(migrated) == ["a.py", "a.py", "b.py", "c.py"]
    review.undo(), review.undo(), review.redo()
    assert len(migrated) == 4
    assert ".cuda()" in review.view("a.py").text and ".npu()" in review.view("b.py").text
    assert len(review.result().changes) == 8
