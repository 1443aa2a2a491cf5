from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npuify.model import FileError, NpuifyError
from npuify.project import common_root, find_files
from npuify.project.files import IGNORED_BY_GIT, ignored_files

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX file system")
not_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def make(root: Path, *files: str, **contents: str) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def names(root: Path, **options: object) -> list[str]:
    return [file.relative for file in find_files([root], **options)]  # type: ignore[arg-type]


def test_finds_files_of_all_kinds_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b/z.py", "b/a.py", "a.py", "run.sh", "weights.bin")
    found = find_files([tmp_path])
    assert [(file.relative, file.kind) for file in found] == [
        ("a.py", "python"),
        ("b/a.py", "python"),
        ("b/z.py", "python"),
        ("run.sh", "shell"),
        ("weights.bin", "other"),
    ]
    assert all(file.path.is_file() for file in found)


def test_keeps_only_the_kinds_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "run.sh")
    assert names(tmp_path, kinds={"python"}) == ["a.py"]


@pytest.mark.parametrize("folder", [".git", ".venv", "node_modules", "__pycache__", "lib/site-packages", ".tox"])
def test_skips_folders_without_source_of_the_project(tmp_path: Path, folder: str) -> None:
    make(tmp_path, "a.py", f"{folder}/b.py")
    assert names(tmp_path) == ["a.py"]


def test_a_virtual_environment_is_known_by_its_marker(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "my_env/lib/b.py", "my_env/pyvenv.cfg", "env/c.py")
    assert names(tmp_path, kinds={"python"}) == ["a.py", "env/c.py"]


def test_one_file(tmp_path: Path) -> None:
    make(tmp_path, "pkg/a.py", "pkg/b.py")
    assert [file.relative for file in find_files([tmp_path / "pkg" / "a.py"])] == ["a.py"]


def test_several_roots_share_a_base_and_count_once(tmp_path: Path) -> None:
    make(tmp_path, "one/a.py", "two/b.py", "two/sub/c.py", "three/d.py")
    roots = [tmp_path / "one", tmp_path / "two", tmp_path / "two/sub", tmp_path / "two/b.py"]
    assert common_root(roots) == tmp_path
    assert [file.relative for file in find_files(roots)] == ["one/a.py", "two/b.py", "two/sub/c.py"]


def test_a_relative_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "pkg/a.py")
    monkeypatch.chdir(tmp_path)
    assert [(file.relative, file.location) for file in find_files([Path("pkg")])] == [("a.py", str(Path("pkg/a.py")))]
    assert [file.relative for file in find_files([Path()])] == ["pkg/a.py"]


def test_no_path_and_missing_path(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="no path"):
        find_files([])
    with pytest.raises(NpuifyError, match="no such file"):
        find_files([tmp_path / "missing"])


@posix
def test_executable_without_suffix_is_known_by_its_first_line(tmp_path: Path) -> None:
    for name, mode in (("train", 0o755), ("data", 0o644)):
        (tmp_path / name).write_text("#!/usr/bin/env python3\n")
        (tmp_path / name).chmod(mode)
    assert names(tmp_path, kinds={"python"}) == ["train"]


def test_jobs_for_a_batch_system_are_known_by_their_first_line(tmp_path: Path) -> None:
    for name, line in (
        ("a.sub", "#!/bin/bash"),
        ("b.sub", "00:01 a subtitle"),
        ("c.job", "#!/bin/sh"),
        ("d.x", "#!/bin/sh"),
    ):
        (tmp_path / name).write_text(f"{line}\n")
    assert names(tmp_path, kinds={"shell"}) == ["a.sub", "c.job"]


def test_a_nameless_file_named_on_purpose_is_known_by_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("#!/usr/bin/env python3\n")
    assert [file.kind for file in find_files([tmp_path / "train"])] == ["python"]


# --- links and strange names -----------------------------------------------------------------------------------------


@posix
def test_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "project/a.py", "outside/secret.py")
    project = tmp_path / "project"
    (project / "out").symlink_to(tmp_path / "outside")
    (project / "secret.py").symlink_to(tmp_path / "outside" / "secret.py")
    (project / "loop").symlink_to(project)
    (project / "up").symlink_to("..")
    (project / "self").symlink_to("self")
    (project / "again.py").symlink_to("a.py")
    assert names(project) == ["a.py"]


@posix
def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    make(tmp_path, "project/a.py")
    (tmp_path / "link").symlink_to("project")
    assert names(tmp_path / "link") == ["a.py"]


@posix
def test_pipes_are_no_files(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert names(tmp_path) == ["a.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems demand UTF-8 names")
def test_names_that_are_not_text_survive(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_bytes(b"x = 1\n")
    (found,) = find_files([tmp_path])
    assert os.fsencode(found.relative) == b"caf\xe9.py"
    assert found.path.read_bytes() == b"x = 1\n"


@posix
@not_root
def test_an_unreadable_folder_is_reported(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    try:
        _check_unreadable(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o755)


def test_an_unreadable_folder_is_reported_also_to_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py", "closed/b.py")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    _check_unreadable(tmp_path)


def _check_unreadable(root: Path) -> None:
    errors: list[FileError] = []
    assert [file.relative for file in find_files([root], errors=errors)] == ["a.py"]
    assert [(error.file, error.message) for error in errors] == [("closed", "cannot be read: Permission denied")]
    with pytest.raises(NpuifyError, match="cannot be read"):
        find_files([root])


# --- what is ignored -------------------------------------------------------------------------------------------------


def test_gitignore(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "build/b.py", "gen_x.py", "keep/gen_y.py", "deep/docs/_build/c.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("build/\ngen_*.py\n!keep/gen_y.py\ndocs/_build\n# a.py\n\n")
    kinds = {"python"}
    assert names(tmp_path, kinds=kinds) == ["a.py", "deep/docs/_build/c.py", "keep/gen_y.py"]
    assert "build/b.py" in names(tmp_path, kinds=kinds, respect_gitignore=False)


def test_nested_gitignore_wins_over_outer(tmp_path: Path) -> None:
    make(tmp_path, "gen.py", "sub/gen.py", "sub/other.py", "sub/deeper/other.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("gen.py\n")
    (tmp_path / "sub/.gitignore").write_text("!gen.py\n/other.py\n")
    assert names(tmp_path, kinds={"python"}) == ["sub/deeper/other.py", "sub/gen.py"]


def test_gitignore_of_enclosing_folders_holds_inside_a_repository(tmp_path: Path) -> None:
    make(tmp_path, "pkg/src/a.py", "pkg/src/gen.py", "pkg/src/local.py", ".git/info/none")
    (tmp_path / ".gitignore").write_text("/pkg/src/gen.py\n")
    (tmp_path / ".git/info/exclude").write_text("local.py\n")
    assert names(tmp_path / "pkg" / "src", kinds={"python"}) == ["a.py"]


def test_gitignore_of_enclosing_folders_does_not_hold_outside_a_repository(tmp_path: Path) -> None:
    make(tmp_path, "pkg/a.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert names(tmp_path / "pkg") == ["a.py"]


def test_an_archive_of_a_repository_holds_what_git_tracks(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "tools/run.sh", "clone/gen.py", "clone/.git/HEAD")
    (tmp_path / ".gitignore").write_text("*.sh\n")
    (tmp_path / "clone/.gitignore").write_text("gen.py\n")
    kinds = {"python", "shell"}
    assert names(tmp_path, kinds=kinds) == ["a.py", "tools/run.sh"]
    assert names(tmp_path, kinds=kinds, outside_repositories=True) == ["a.py"]


def test_a_copy_leaves_out_what_git_ignored_in_the_project(tmp_path: Path) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    paths = ["a.py", "data/gen.py", "conf/[local] .yaml", "conf/l.yaml", "conf/s.yaml", "x.bin"]
    make(project, *paths, ".git/HEAD")
    (project / ".gitignore").write_text("data/*\n*.bin\n")
    (project / "conf/.gitignore").write_text("*.yaml*\n!s.yaml\n")
    make(copy, *paths, "npuify-report/report.md")
    (copy / IGNORED_BY_GIT).write_text(ignored_files(project))
    kinds = {"python", "yaml"}
    assert "x.bin" not in ignored_files(project)
    assert names(copy, kinds=kinds) == names(project, kinds=kinds) == ["a.py", "conf/s.yaml"]
    assert "conf/l.yaml" in names(copy, kinds=kinds, respect_gitignore=False)
    assert ignored_files(copy) == ignored_files(project)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_tracks_is_not_ignored(version: str, tmp_path: Path) -> None:
    make(tmp_path, "a.py", "run.sh", "new.sh", "out/kept.py", "out/new.py", "out/deep/kept.py", "gone/new.py")
    (tmp_path / ".gitignore").write_text("*.sh\nout/\ngone/\n")
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", "a.py", "run.sh", "out/kept.py", "out/deep/kept.py"], check=True)
    subprocess.run([*git, "update-index", "--index-version", version], check=True)
    if version == "3":  # git writes it where an entry needs it
        subprocess.run([*git, "add", "-N", "-f", "gone/new.py"], check=True)
    expected = ["a.py", "out/deep/kept.py", "out/kept.py", "run.sh"]
    if version == "3":
        expected.insert(1, "gone/new.py")
    assert names(tmp_path, kinds={"python", "shell"}) == expected
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".git").rename(tmp_path / "elsewhere/real")
    (tmp_path / ".git").write_text("gitdir: elsewhere/real\n")
    assert names(tmp_path, kinds={"python", "shell"}) == expected


@pytest.mark.parametrize(
    "index", [b"", b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x09abc", b"DIRC\0\0\0\x04\0\0\0\x02" + b"x" * 70]
)
def test_a_broken_index_tracks_nothing(index: bytes, tmp_path: Path) -> None:
    make(tmp_path, "a.py", "gen.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("gen.py\n")
    (tmp_path / ".git/index").write_bytes(index)
    assert names(tmp_path, kinds={"python"}) == ["a.py"]


def test_a_slash_in_brackets_is_part_of_them(tmp_path: Path) -> None:
    make(tmp_path, "a", "ab", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("[^/]\n")
    assert names(tmp_path) == [".gitignore", "ab"]


def test_an_ignored_folder_named_on_purpose_is_taken(tmp_path: Path) -> None:
    make(tmp_path, "build/a.py", "build/gen/b.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build/.gitignore").write_text("gen\n")
    assert names(tmp_path / "build", kinds={"python"}) == ["a.py"]


def test_repositories_below_the_common_root(tmp_path: Path) -> None:
    make(tmp_path, "one/a.py", "one/gen.py", "one/.git/HEAD", "two/gen.py", "two/b/c.py", "two/.git/HEAD")
    (tmp_path / "one/.gitignore").write_text("/gen.py\n")
    (tmp_path / "two/.gitignore").write_text("/b/c.py\n")
    roots = [tmp_path / "one", tmp_path / "two/b", tmp_path / "two/gen.py"]
    assert [file.relative for file in find_files(roots, kinds={"python"})] == ["one/a.py", "two/gen.py"]


def test_exclude(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "third_party/b.py", "pkg/third_party/c.py", "pkg/test_d.py")
    assert names(tmp_path, exclude=["third_party/", "test_*.py"]) == ["a.py"]
    assert names(tmp_path, exclude=["/third_party"]) == ["a.py", "pkg/test_d.py", "pkg/third_party/c.py"]


def test_an_excluded_file_named_on_purpose_is_taken(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    assert [file.relative for file in find_files([tmp_path / "a.py"], exclude=["*.py"])] == ["a.py"]


PARTS = st.sampled_from(["a", "b", "ab", "build", "x.py", "test_x.py", "y.txt", "z.pyc", ".hid"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
PATTERNS = st.one_of(
    st.sampled_from(
        [
            "*",
            "*.py",
            "*.py[cod]",
            "/a",
            "a/",
            "a/*",
            "!a/b",
            "**/build",
            "build/**",
            "a/**/x.py",
            "!*.py",
            "!*/",
            "x*",
            "# comment",
            "",
            "  ",
            "\\#a",
            "\\!a",
            "[ab]",
            "?",
            "!build/",
            "a/b/",
            "/*",
            "!/a",
            ".*",
            "test_*.py",
            "*/x.py",
            "[!a]",
            "a b",
            "foo\\ ",
            "*.",
            "**",
            "a**b",
            "//",
            "/",
            "!",
            "x.py ",
            "[a-",
            "a/./b",
            "[[:alpha:]]",
            "[]a]",
            "[!]]",
        ]
    ),
    PATHS,
    PATHS.map("!".__add__),
    PATHS.map("/".__add__),
    st.text(alphabet="ab*?[]!/\\.x-^ ", max_size=6),
)


@needs_git
@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(PATHS, min_size=1, max_size=8),
    outer=st.lists(PATTERNS, max_size=4),
    inner=st.lists(PATTERNS, max_size=3),
    tracked=st.integers(0, 3),
)
def test_ignores_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], outer: list[str], inner: list[str], tracked: int
) -> None:
    root = tmp_path_factory.mktemp("repo")
    for name in files:
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        except OSError:  # one name is a folder in one path and a file in another
            continue
    (root / ".gitignore").write_text("\n".join(outer) + "\n")
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text("\n".join(inner) + "\n")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q", str(root)], check=True, env=environment)
    added = [name for name in files[:tracked] if (root / name).is_file()]
    if added:
        subprocess.run(["git", "-C", str(root), "add", "-f", "--", *added], check=True, env=environment)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        env=environment,
    )
    expected = sorted(name for name in listed.stdout.decode().split("\0") if name)
    assert names(root) == expected
