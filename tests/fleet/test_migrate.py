from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from npuify.fleet.migrate import migrate, render_text
from npuify.fleet.model import Limits
from npuify.fleet.workers.engines import Engine
from npuify.model import NpuifyError

from .conftest import PLAIN, git, make, repository

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.fleet.migrate import Row


def migrated(place: Path, **others: Any) -> dict[str, Row]:
    rows = migrate(place, place.parent / "out", {}, Limits(), Engine(jobs=1), **others)
    return {one.name: one for one in rows}


def test_a_patch_for_each_project(tmp_path: Path) -> None:
    make(tmp_path / "all", "plain")
    make(tmp_path / "all", "nothing", code="print('hello')\n")
    repository(tmp_path / "git")
    lines = [str(tmp_path / "all" / name) for name in ("plain", "nothing", "gone")]
    (tmp_path / "list").write_text("\n".join([*lines, (tmp_path / "git").as_uri()]))
    rows = migrated(tmp_path / "list")
    assert not rows["nothing"].place and rows["gone"].message and rows["gone"].advice
    for name, folder in (("plain", tmp_path / "all" / "plain"), ("git", tmp_path / "git")):
        patch = tmp_path / "out" / rows[name].place
        git(folder, "apply", "--check", str(patch))
        assert (folder / "train.py").read_text() == PLAIN
    again = migrated(tmp_path / "list")
    assert again["plain"].kept and again["plain"].place and again["nothing"].kept and again["git"].kept
    assert "plain: unchanged, patches/plain-" in render_text(again.values())


def test_a_branch_in_a_clone_and_never_in_the_checkout_unasked(tmp_path: Path) -> None:
    commit = repository(tmp_path / "all" / "mine")
    make(tmp_path / "all", "no-git")
    (tmp_path / "all" / "mine" / "train.py").write_text(PLAIN + "# not committed\n")
    rows = migrated(tmp_path / "all", branch="to/ascend")
    assert "no git repository" in rows["no-git"].message
    clone = tmp_path / "out" / rows["mine"].place
    assert git(clone, "rev-parse", "to/ascend~1") == commit
    assert "npu" in git(clone, "show", "to/ascend:train.py") and "not committed" not in git(clone, "show", "to/ascend")
    assert git(clone, "status", "--porcelain") == ""
    assert git(tmp_path / "all" / "mine", "branch", "--format=%(refname:short)") == "main"
    assert not (tmp_path / "out" / "branches").joinpath("no-git").exists()

    rows = migrated(tmp_path / "all", branch="to/ascend", into_checkouts=True, refresh=True)
    mine = tmp_path / "all" / "mine"
    assert not rows["mine"].message
    assert git(mine, "branch", "--format=%(refname:short)").split() == ["main", "to/ascend"]
    assert git(mine, "rev-parse", "HEAD") == commit
    assert (mine / "train.py").read_text() == PLAIN + "# not committed\n"
    # A branch of that name is there now, and is not overwritten by another commit.
    (mine / "train.py").write_text(PLAIN + PLAIN)
    git(mine, "commit", "-qam", "two")
    before = git(mine, "rev-parse", "to/ascend")
    rows = migrated(tmp_path / "all", branch="to/ascend", into_checkouts=True, refresh=True)
    assert "git fetch failed" in rows["mine"].message
    assert git(mine, "rev-parse", "to/ascend") == before


def test_wrong_use(tmp_path: Path) -> None:
    make(tmp_path / "all", "a")
    for others in ({"into_checkouts": True}, {"branch": "--upload-pack=x"}, {"branch": "a..b"}):
        with pytest.raises(NpuifyError):
            migrated(tmp_path / "all", **others)
