from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from npuify.model import NpuifyError
from npuify.project import Config, load_config
from npuify.project.config import _EXPECTED


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_no_settings(tmp_path: Path) -> None:
    assert load_config(tmp_path) == Config()
    write(tmp_path, "[project]\nname = 'x'\n")
    assert load_config(tmp_path) == Config()


def test_all_settings(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [tool.npuify]
        torch-npu = "2.7.1"
        style = "npu"
        select = ["NPU1", "NPU3"]
        ignore = ["NPU301"]
        exclude = ["third_party/"]
        unsafe = true
        jobs = 4
        """,
    )
    assert load_config(tmp_path) == Config(
        torch_npu="2.7.1",
        style="npu",
        select=("NPU1", "NPU3"),
        ignore=("NPU301",),
        exclude=("third_party/",),
        unsafe=True,
        jobs=4,
    )


def test_settings_of_the_newer_options(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [tool.npuify]
        soc = "A2"
        cache = false
        place-on-npu = true
        cpu-fallback = true
        replace-unsupported = true
        normalize-newlines = false
        rules = ["conf/rules.toml"]
        third-party = ["../mmcv"]
        vendor-reports = "build/reports"
        """,
    )
    assert load_config(tmp_path) == Config(
        soc="A2",
        cache=False,
        place_on_npu=True,
        cpu_fallback=True,
        replace_unsupported=True,
        normalize_newlines=False,
        rules=(str(tmp_path / "conf/rules.toml"),),
        third_party=(str(tmp_path / "../mmcv"),),
        vendor_reports=str(tmp_path / "build/reports"),
    )


@pytest.mark.parametrize("place", ["../elsewhere", "/tmp", "link/reports"])
def test_a_project_cannot_have_files_written_elsewhere(tmp_path: Path, place: str) -> None:
    write(tmp_path / "project", f"[tool.npuify]\njobs = 1\nvendor-reports = '{place}'\n")
    if place.startswith("link"):
        try:
            (tmp_path / "project/link").symlink_to(tmp_path)
        except OSError:
            pytest.skip("links cannot be made here")
    with pytest.raises(NpuifyError, match="own folder") as caught:
        load_config(tmp_path / "project")
    assert caught.value.line == 3


def test_every_setting_is_documented_and_has_an_example_of_its_value() -> None:
    page = (Path(__file__).parents[2] / "docs/settings.md").read_text("utf-8")
    keys = {field.encode_name for field in msgspec.structs.fields(Config)}
    assert keys == set(_EXPECTED)
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_settings_of_an_enclosing_folder_and_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, "[tool.npuify]\njobs = 2\n")
    write(tmp_path / "pkg", "[project]\nname = 'npuify-user'\n")
    (tmp_path / "pkg/a.py").write_text("")
    assert load_config(tmp_path / "pkg").jobs == 2
    assert load_config(tmp_path / "pkg/a.py").jobs == 2


def test_settings_outside_the_repository_do_not_hold(tmp_path: Path) -> None:
    write(tmp_path, "[tool.npuify]\njobs = 2\n")
    (tmp_path / "repo/.git").mkdir(parents=True)
    assert load_config(tmp_path / "repo").jobs is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool.npuify]\n\njob = 2\n", 3, "unknown setting 'job'.*\n.*did you mean 'jobs'"),
        ("[tool.npuify]\ntorch_npu = '2.7'\n", 2, "did you mean 'torch-npu'"),
        ("[tool.npuify]\ncolour = 1\n", 2, "known settings: torch-npu"),
        ("[tool.npuify]\nplace_on_npus = true\n", 2, "did you mean 'place-on-npu'"),
        ("[tool.npuify]\nVendor-Report = 'x'\n", 2, "did you mean 'vendor-reports'"),
        ("[tool.npuify]\nformat = 'json'\n", 2, "for one run only: say --format"),
        ("[tool.npuify]\nstyle = 'gpu'\n", 2, "there is no style 'gpu'\n.*portable"),
        ("[tool.npuify]\ncpu-fallback = 1\n", 2, "cpu-fallback must be true or false"),
        ("[tool.npuify]\nrules = 'a.toml'\n", 2, "rules must be a list of files"),
        ("[tool.npuify]\njobs = 'many'\n", 2, "jobs must be a number"),
        ("[tool.npuify]\njobs = -1\n", 2, "jobs must be a number"),
        ("[tool.npuify]\njobs = true\n", 2, "jobs must be a number"),
        ("[tool.npuify]\nselect = 'NPU1'\n", 2, "select must be a list"),
        ("[tool.npuify]\nexclude = [1]\n", 2, "exclude must be a list"),
        ("[tool.npuify]\nunsafe = 'yes'\n", 2, "unsafe must be true or false"),
        ("[tool.npuify]\ntorch-npu = 2.7\n", 2, "torch-npu must be a string"),
        ("[tool]\nnpuify = 3\n", 2, "must be a table"),
        ("[tool]\nnpuify.jobs = 'x'\n", 2, "jobs must be"),
        ("[tool.ruff]\njobs = 1\n[tool.npuify]\njobs = 'x'\n", 4, "jobs must be"),
        ("[tool.npuify]\njobs = \n", 2, "not valid TOML"),
    ],
)
def test_wrong_settings_are_told_with_their_place(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(NpuifyError, match=message) as caught:
        load_config(tmp_path)
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.npuify]\nstyle = '\xff'\n")
    with pytest.raises(NpuifyError, match="not valid TOML"):
        load_config(tmp_path)


def test_broken_toml_of_a_project_that_does_not_speak_of_npuify_is_none_of_our_business(tmp_path: Path) -> None:
    write(tmp_path, "[project\n")
    assert load_config(tmp_path) == Config()
