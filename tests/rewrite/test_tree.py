from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from npuify.model import NpuifyError
from npuify.rewrite.tree import check_destination, replace_files, skipped_entries, write_tree

pytestmark = pytest.mark.core

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes and links")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "train.py").write_bytes(b"import torch\r\n")
    (root / "pkg/model.py").write_bytes(b"x = 1\n")
    (root / "pkg/weights.bin").write_bytes(bytes(range(256)))
    (root / "empty").mkdir()
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / "sub").mkdir()
    (root / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    return root


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out"


def snapshot(root: Path) -> dict[str, object]:
    """Everything below ``root``: bytes of files, targets of links, None for folders."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[relative] = f"-> {path.readlink().as_posix()}"
        else:
            found[relative] = path.read_bytes() if path.is_file() else None
    return found


def only(tmp_path: Path, *names: str) -> None:
    """Nothing but ``names`` lies in the folder: no temporary folder was left."""
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


# --- a copy ----------------------------------------------------------------------------------------------------------


def test_copies_everything_but_git_and_puts_in_what_is_new(source: Path, target: Path, tmp_path: Path) -> None:
    before = snapshot(source)
    skipped = write_tree(
        source, target, {"pkg/model.py": b"x = 2\n"}, {"npuify-report/report.md": b"# r\n"}, force=False
    )
    assert skipped == ()
    assert snapshot(target) == {
        "empty": None,
        "npuify-report": None,
        "npuify-report/report.md": b"# r\n",
        "pkg": None,
        "pkg/model.py": b"x = 2\n",
        "pkg/weights.bin": bytes(range(256)),
        "sub": None,
        "train.py": b"import torch\r\n",
    }
    assert snapshot(source) == before
    only(tmp_path, "project", "out")


def test_one_file(source: Path, target: Path) -> None:
    write_tree(source / "train.py", target, {"train.py": b"new\n"}, {"npuify-report/x": b""}, force=False)
    assert snapshot(target) == {"npuify-report": None, "npuify-report/x": b"", "train.py": b"new\n"}


def test_the_report_of_an_earlier_migration_is_replaced(source: Path, target: Path) -> None:
    (source / "npuify-report").mkdir()
    (source / "npuify-report/report.md").write_bytes(b"old")
    write_tree(source, target, {}, {"npuify-report/report.md": b"new"}, force=False)
    assert (target / "npuify-report/report.md").read_bytes() == b"new"


def test_missing_parents_are_made(source: Path, tmp_path: Path) -> None:
    write_tree(source, tmp_path / "a/b/out", {}, {}, force=False)
    assert (tmp_path / "a/b/out/train.py").is_file()


def test_an_empty_destination_is_filled(source: Path, target: Path, tmp_path: Path) -> None:
    target.mkdir()
    write_tree(source, target, {}, {}, force=False)
    assert (target / "train.py").is_file()
    only(tmp_path, "project", "out")


@posix
def test_modes_and_times_are_kept(source: Path, target: Path) -> None:
    modes = {"train.py": 0o755, "pkg/model.py": 0o600, "pkg/weights.bin": 0o444, "pkg": 0o750, "empty": 0o555}
    for name, mode in modes.items():
        (source / name).chmod(mode)
    source.chmod(0o711)
    os.utime(source / "pkg/weights.bin", (1_000_000_000, 1_000_000_000))
    write_tree(source, target, {"train.py": b"new"}, {"npuify-report/x": b""}, force=False)
    for name, mode in modes.items():
        assert stat.S_IMODE((target / name).stat().st_mode) == mode, name
    assert stat.S_IMODE(target.stat().st_mode) == 0o711
    assert (target / "pkg/weights.bin").stat().st_mtime == 1_000_000_000


@posix
def test_links_inside_stay_and_links_that_leave_are_told(source: Path, target: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (source / "model.py").symlink_to("pkg/model.py")
    (source / "pkg/up").symlink_to("..")
    (source / "pkg/train.py").symlink_to("../train.py")
    (source / "absolute").symlink_to(source / "pkg")
    (source / "pkg/around").symlink_to("../../project/train.py")
    (source / "dangling").symlink_to("not/there")
    (source / "one").symlink_to("two")
    (source / "two").symlink_to("one")
    (source / "away").symlink_to("../secret")
    (source / "far").symlink_to("/")
    (source / "pkg/chain").symlink_to("../away")
    skipped = write_tree(source, target, {}, {}, force=False)
    links = {name: text for name, text in snapshot(target).items() if isinstance(text, str)}
    assert links == {
        "model.py": "-> pkg/model.py",
        "pkg/up": "-> ..",
        "pkg/train.py": "-> ../train.py",
        "absolute": "-> pkg",
        "pkg/around": "-> ../train.py",
        "dangling": "-> not/there",
        "one": "-> two",
        "two": "-> one",
    }
    assert sorted(one.file for one in skipped) == ["away", "far", "pkg/chain"]
    assert "a link that leaves the project: ../secret" in {one.message for one in skipped}
    assert sorted(skipped_entries(source), key=str) == sorted(skipped, key=str)
    assert all(Path(os.path.realpath(path)).is_relative_to(target) for path in target.rglob("*"))


@posix
def test_the_source_may_be_a_link(source: Path, target: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    write_tree(tmp_path / "link", target, {}, {}, force=False)
    assert not target.is_symlink() and (target / "train.py").is_file()


@posix
def test_pipes_are_told_and_not_opened(source: Path, target: Path) -> None:
    os.mkfifo(source / "pipe")
    (skipped,) = write_tree(source, target, {}, {}, force=False)
    assert skipped.file == "pipe"
    assert not (target / "pipe").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems demand UTF-8 names")
def test_names_that_are_not_text(source: Path, target: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (source / name).write_bytes(b"old")
    write_tree(source, target, {name: b"new"}, {}, force=False)
    assert (target / name).read_bytes() == b"new"
    assert [os.fsencode(path.name) for path in target.iterdir() if path.name == name] == [b"caf\xe9.py"]


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(
    source: Path, target: Path, message: str, *, force: bool = False, contents: dict[str, bytes] | None = None
) -> None:
    with pytest.raises(NpuifyError, match=message):
        write_tree(source, target, contents or {}, {}, force=force)


@pytest.mark.parametrize("force", [False, True])
def test_destination_and_source_must_lie_apart(source: Path, tmp_path: Path, force: bool) -> None:
    before = snapshot(tmp_path)
    refused(source, source / "out", "inside the source", force=force)
    refused(source, source, "inside the source", force=force)
    refused(source, source / "pkg/../../project/out", "inside the source", force=force)
    refused(source / "pkg", source, "source lies inside", force=force)
    refused(source / "train.py", source, "source lies inside", force=force)
    assert snapshot(tmp_path) == before


@posix
def test_a_link_does_not_hide_that_they_overlap(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    refused(source, tmp_path / "link/out", "inside the source")
    refused(tmp_path / "link", source / "out", "inside the source", force=True)


def test_a_destination_that_is_not_empty(source: Path, target: Path) -> None:
    target.mkdir()
    (target / "mine").write_text("precious")
    refused(source, target, "not empty")
    assert snapshot(target) == {"mine": b"precious"}


def test_a_destination_that_is_a_file(source: Path, target: Path) -> None:
    target.write_text("precious")
    refused(source, target, "not a folder", force=True)
    assert target.read_text() == "precious"


@posix
def test_a_destination_that_leads_in_a_circle(source: Path, target: Path) -> None:
    target.symlink_to(target)
    refused(source, target, "not a folder", force=True)


def test_a_missing_source(target: Path, tmp_path: Path) -> None:
    refused(tmp_path / "missing", target, "no such file")


def test_home_is_never_replaced(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine").write_text("precious")
    monkeypatch.setattr(Path, "home", lambda: home)
    refused(source, home, "must not be replaced", force=True)
    assert snapshot(home) == {"mine": b"precious"}


def test_new_bytes_for_a_file_that_is_gone(source: Path, target: Path, tmp_path: Path) -> None:
    refused(source, target, "not a file of the project", contents={"gone.py": b""})
    only(tmp_path, "project")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", ""])
def test_extra_files_stay_inside(source: Path, target: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(NpuifyError, match="inside the project"):
        write_tree(source, target, {}, {name: b""}, force=False)
    only(tmp_path, "project")


# --- replacing an old destination ------------------------------------------------------------------------------------


def test_force_replaces_and_keeps_the_repository_of_the_destination(source: Path, target: Path, tmp_path: Path) -> None:
    (target / ".git").mkdir(parents=True)
    (target / ".git/HEAD").write_text("theirs")
    (target / "old.py").write_text("old")
    write_tree(source, target, {}, {}, force=True)
    assert not (target / "old.py").exists()
    assert (target / ".git/HEAD").read_text() == "theirs"
    assert (target / "train.py").is_file()
    only(tmp_path, "project", "out")


@posix
def test_force_replaces_what_is_read_only(source: Path, target: Path, tmp_path: Path) -> None:
    (target / "closed").mkdir(parents=True)
    (target / "closed/old.py").write_text("old")
    (target / "closed/old.py").chmod(0o400)
    (target / "closed").chmod(0o500)
    write_tree(source, target, {}, {}, force=True)
    only(tmp_path, "project", "out")
    assert not (target / "closed").exists()


def test_a_destination_that_cannot_be_renamed_is_filled_in_place(
    source: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.mkdir()
    (target / "old.py").write_text("old")
    inode = target.stat().st_ino
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == target)
    write_tree(source, target, {}, {}, force=True)
    assert target.stat().st_ino == inode
    assert sorted(path.name for path in target.iterdir()) == ["empty", "pkg", "sub", "train.py"]


@pytest.mark.parametrize("mounted", [False, True])
@pytest.mark.parametrize("fails_at", range(1, 6))
def test_a_failing_rename_brings_the_old_destination_back(
    source: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounted: bool, fails_at: int
) -> None:
    (target / ".git").mkdir(parents=True)
    (target / ".git/HEAD").write_text("theirs")
    (target / "old.py").write_text("old")
    (target / "older.py").write_text("old")
    before = snapshot(target)
    if mounted:
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == target)
    real, calls = Path.rename, 0

    def rename(self: Path, other: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise KeyboardInterrupt
        return real(self, other)

    monkeypatch.setattr(Path, "rename", rename)
    if not mounted and fails_at > 3:
        write_tree(source, target, {}, {}, force=True)
        return
    with pytest.raises(KeyboardInterrupt):
        write_tree(source, target, {}, {}, force=True)
    assert snapshot(target) == before
    only(tmp_path, "project", "out")


# --- failures on the way ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError(), SystemExit(1)]
)
@pytest.mark.parametrize("function", ["copyfile", "copystat", "copymode"])
def test_a_failed_or_interrupted_copy_leaves_no_trace(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    existing: bool,
    failure: BaseException,
    function: str,
) -> None:
    target = tmp_path / "new/out"
    if existing:
        target.mkdir(parents=True)
        (target / "mine").write_text("precious")
    before = snapshot(tmp_path)
    real, calls = getattr(shutil, function), 0

    def fail(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls == (2 if function != "copymode" else 1):
            raise failure
        return real(*arguments, **options)

    monkeypatch.setattr(shutil, function, fail)
    expected = NpuifyError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected) as caught:
        write_tree(source, target, {"train.py": b"new"}, {"npuify-report/x": b""}, force=True)
    if isinstance(caught.value, NpuifyError):
        assert caught.value.message == "No space left on device"
        assert caught.value.file == str(target)
    assert snapshot(tmp_path) == before


def test_a_source_file_that_cannot_be_read_is_named(
    source: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(location: str, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", location)

    monkeypatch.setattr(shutil, "copyfile", closed)
    with pytest.raises(NpuifyError, match="Permission denied") as caught:
        write_tree(source, target, {}, {}, force=False)
    assert Path(caught.value.file).parent in {source, source / "pkg"}
    only(tmp_path, "project")


def test_a_destination_that_may_not_be_written(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkdtemp(*_: object, **options: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(options["dir"]))

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    with pytest.raises(NpuifyError, match="Permission denied"):
        write_tree(source, tmp_path / "new/out", {}, {}, force=False)
    only(tmp_path, "project")


def test_a_folder_of_the_source_that_cannot_be_read(
    source: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("pkg"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(NpuifyError, match="Permission denied"):
        write_tree(source, target, {}, {}, force=False)
    with pytest.raises(NpuifyError, match="Permission denied"):
        skipped_entries(source)
    monkeypatch.undo()
    only(tmp_path, "project")


def test_check_destination_says_nothing_where_all_is_well(source: Path, target: Path) -> None:
    check_destination(source, target, force=False)
    assert not target.exists()


# --- files in place --------------------------------------------------------------------------------------------------


def test_replaces_files_and_nothing_else(source: Path) -> None:
    before = snapshot(source)
    replace_files(source, {"train.py": b"new\r\n", "pkg/model.py": b""})
    assert snapshot(source) == {**before, "train.py": b"new\r\n", "pkg/model.py": b""}


def test_replaces_a_single_file(source: Path) -> None:
    replace_files(source / "train.py", {"train.py": b"new"})
    assert (source / "train.py").read_bytes() == b"new"


def test_adds_files_with_their_folders(source: Path) -> None:
    replace_files(source, {"npuify-report/a/b.md": b"new"})
    assert (source / "npuify-report/a/b.md").read_bytes() == b"new"


@posix
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o640])
def test_mode_is_kept_in_place(source: Path, mode: int) -> None:
    (source / "train.py").chmod(mode)
    replace_files(source, {"train.py": b"new"})
    assert stat.S_IMODE((source / "train.py").stat().st_mode) == mode
    assert (source / "train.py").read_bytes() == b"new"


@posix
def test_new_files_get_the_usual_mode(source: Path) -> None:
    (source / "reference").write_text("")
    replace_files(source, {"added": b""})
    assert (source / "added").stat().st_mode == (source / "reference").stat().st_mode


def test_a_replaced_file_is_newer(source: Path) -> None:
    os.utime(source / "train.py", (1_000_000_000, 1_000_000_000))
    replace_files(source, {"train.py": b"new"})
    assert (source / "train.py").stat().st_mtime > 1_000_000_000


@pytest.mark.parametrize("name", ["../out.py", "pkg/../../out.py", "/out.py", "pkg", ""])
def test_paths_in_place_stay_inside_and_are_files(source: Path, tmp_path: Path, name: str) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(NpuifyError):
        replace_files(source, {"train.py": b"new", name: b"x"})
    assert snapshot(tmp_path) == before


@posix
def test_links_are_not_written_through(source: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.py").write_text("precious")
    (source / "away").symlink_to("../elsewhere")
    (source / "a.py").symlink_to("../elsewhere/a.py")
    for name in ("away/a.py", "a.py"):
        with pytest.raises(NpuifyError):
            replace_files(source, {name: b"x"})
    assert (tmp_path / "elsewhere/a.py").read_text() == "precious"


@pytest.mark.parametrize("fails_at", [1, 2, 3])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_in_place_all_or_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int, failure: BaseException, function: str
) -> None:
    before = snapshot(source)
    calls = 0
    where = os if function == "fsync" else Path
    real = getattr(where, function)

    def fail(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise failure
        return real(*arguments)

    monkeypatch.setattr(where, function, fail)
    with pytest.raises((NpuifyError, KeyboardInterrupt)):
        replace_files(source, {"train.py": b"new", "new/added.py": b"new", "pkg/model.py": b"new"})
    assert snapshot(source) == before
