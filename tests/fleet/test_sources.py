from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.fleet.sources import read_sources, source_of
from npuify.model import NpuifyError

from .conftest import make, repository

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_names_folders_and_addresses(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(
        "# ours\n\nprojects/one   # a remark\nhttps://host/team/two.git@v1.0\ngit@host:team/three.git\n"
        "ssh://git@host:22/team/four@feature/x\nprojects/one\nfile:///srv/five.git\n"
    )
    found = read_sources(tmp_path / "list.txt")
    assert [(one.name, one.place, one.revision, one.is_git) for one in found] == [
        ("one", str(tmp_path / "projects" / "one"), "", False),
        ("two", "https://host/team/two.git", "v1.0", True),
        ("three", "git@host:team/three.git", "", True),
        ("four", "ssh://git@host:22/team/four", "feature/x", True),
        ("five", "file:///srv/five.git", "", True),
    ]
    assert len({one.key for one in found}) == 5


def test_names_differ(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a/net\nb/net\nhttps://host/net@v1\nhttps://host/net@v2\n")
    found = read_sources(tmp_path / "list.txt")
    assert len({one.name for one in found}) == len({one.key for one in found}) == 4
    assert [one.name for one in found][:2] == ["a/net", "b/net"]


@pytest.mark.parametrize(
    "line",
    [
        "ext::sh -c id",
        "https://host/x\t--upload-pack=id",
        "ssh://-oProxyCommand=id/x",
        "-oProxyCommand=id:x",
        "git@-oProxyCommand=id:x",
        "ssh://host/--upload-pack=id",
        "host:-x",
        "https://host/x@--upload-pack=id",
        "https://host/x@a..b",
        "https://me:secret@host/x",
        "http://host/x",
        "git://host/x",
        "ftp://host/x",
        "https:///x",
        "https://host",
        "file://host/x",
        "fd::17",
        "https://host/\x1b[2J",
    ],
)
def test_what_git_could_misread_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(NpuifyError):
        source_of(line, tmp_path)
    (tmp_path / "list.txt").write_text(f"ok\n{line}\n")
    with pytest.raises(NpuifyError, match=r"list\.txt:2: "):
        read_sources(tmp_path / "list.txt")


def test_a_folder_of_checkouts_and_groups(tmp_path: Path) -> None:
    make(tmp_path, "plain", "deep/with/files")
    repository(tmp_path / "group" / "inner" / "project")
    repository(tmp_path / "group" / "inner" / "other")
    (tmp_path / ".hidden").mkdir()
    assert [one.name for one in read_sources(tmp_path)] == ["deep", "group", "plain"]
    assert [one.name for one in read_sources(tmp_path / "group")] == ["other", "project"]


@pytest.mark.parametrize("kind", ["missing", "empty", "project", "binary"])
def test_lists_that_are_none(tmp_path: Path, kind: str) -> None:
    place = tmp_path / kind
    if kind == "empty":
        place.write_text("# nothing\n")
    elif kind == "project":
        repository(place)
    elif kind == "binary":
        place.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NpuifyError, match=kind):
        read_sources(place)
