"""The texts that are written: shellcheck is content with all of them, and tables hold what they should."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from npuify.knowledge import choose_release, products, releases
from npuify.knowledge.machine.launching import (
    cluster_products,
    container_options,
    environment_settings,
    kernel_settings,
    launchers,
    network_checks,
)
from npuify.launch.cluster.build import build
from npuify.launch.job import METHODS, job
from npuify.launch.launch import launch
from npuify.model import NpuifyError

from .conftest import PROBE, needs_bash
from .test_changes import SPAWNS


def shellcheck() -> str:
    found = shutil.which("shellcheck", path=sysconfig.get_path("scripts")) or shutil.which("shellcheck")
    if found is None:
        pytest.skip("shellcheck is not installed")
    return found


def all_scripts(folder: Path) -> list[Path]:
    """Scripts of every kind, below ``folder``."""
    (folder / "it's a probe.py").write_text(PROBE)
    (folder / "spawns.py").write_text(SPAWNS)
    (folder / "hosts.yaml").write_text(
        "product: A2\nnetwork: 10.20.0.0/24\nhosts: [{name: a, address: 10.0.0.1}, {name: b, address: 10.0.0.2}]\n"
    )
    for torch_npu in ("2.13.0", "2.1.0.post17"):
        release = choose_release(torch_npu, None)
        for method in METHODS if torch_npu == "2.13.0" else ("torchrun",):
            for nodes in (1, 2):
                values: dict[str, Any] = {"master": "10.0.0.1", "visible": ((4, 5), (6, 7))} if nodes == 2 else {}
                one = job(
                    str(folder / "it's a probe.py"),
                    method=method,
                    release=release,
                    arguments=["a b", "$x", "*"],
                    cards=None if nodes == 1 else 2,
                    nodes=nodes,
                    folder=folder,
                    **values,
                )
                launch(one, folder / f"{torch_npu}-{method}-{nodes}", vendor_script=method == "shell", interface="eth0")
        spawning = job(str(folder / "spawns.py"), method="spawn", release=release, folder=folder)
        launch(spawning, folder / f"{torch_npu}-own")
    build(folder / "hosts.yaml", folder / "cluster")
    return [path for _, path in sorted({path.read_text(): path for path in folder.rglob("*.sh")}.items())]


@needs_bash
@pytest.mark.parametrize("mark", ["requirements.txt", ""])
def test_scripts_in_a_project_go_with_it(mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were tied to the folder's name and its parent: a copy under another name found no program."""
    project = tmp_path / "mine"
    (project / "data").mkdir(parents=True)
    (project / "train.py").write_text("import os\nprint('ran in', os.getcwd())\n")
    if mark:
        (project / mark).write_text("torch\n")
    monkeypatch.chdir(tmp_path)
    one = job("mine/train.py", method="torchrun", release=choose_release(None, None), output=Path("mine/launch"))
    launch(one, Path("mine/launch"))
    script = (project / "launch" / "run.sh").read_text()
    assert 'cd "$here"/..\n' in script
    assert "program=(train.py)" in script
    copy = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(project, copy)
    shutil.rmtree(project)
    done = subprocess.run(
        ["bash", str(copy / "launch" / "run.sh")],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": os.environ["PATH"], "PYTHON": sys.executable, "CARDS": "1", "NPUIFY_SIMULATE": "not needed"},
    )
    assert done.returncode == 0, done.stderr
    assert f"ran in {copy}" in done.stdout + "".join(path.read_text() for path in copy.rglob("*.log"))


def test_scripts_elsewhere_or_with_files_as_arguments_start_the_program_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "mine"
    (project / "data").mkdir(parents=True)
    (project / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    release = choose_release(None, None)
    outside = job("mine/train.py", method="torchrun", release=release, output=Path("launch"))
    with_data = job(
        "mine/train.py", method="torchrun", release=release, output=Path("mine/launch"), arguments=["--data=mine/data"]
    )
    # Beside a project, in the folder that holds several.
    (tmp_path / "all" / "one").mkdir(parents=True)
    for name in ("train.py", "requirements.txt"):
        (tmp_path / "all" / "one" / name).touch()
    among = job("all/one/train.py", method="torchrun", release=release, output=Path("all/launch"))
    assert (among.folder, among.entry) == (str(tmp_path), "all/one/train.py")
    assert {(one.folder, one.entry) for one in (outside, with_data)} == {(str(tmp_path), "mine/train.py")}


@needs_bash
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    scripts = all_scripts(tmp_path)
    # Ten ways of one release and two of the other, one that starts itself, the vendor's, environments, a cluster's five.
    assert len(scripts) >= 10 + 2 + 1 + 2 + 4 + 5
    done = subprocess.run(
        [shellcheck(), "--enable=avoid-nullary-conditions,deprecate-which,quote-safe-variables", *map(str, scripts)],
        capture_output=True,
        text=True,
    )
    assert done.stdout + done.stderr == ""


@needs_bash
def test_bash_can_read_all(tmp_path: Path) -> None:
    for script in all_scripts(tmp_path)[::5]:
        subprocess.run(["bash", "-n", str(script)], check=True)
    for program in tmp_path.rglob("spawn_ranks.py"):
        compile(program.read_text(), str(program), "exec")


def test_every_way_is_known_with_its_source() -> None:
    assert tuple(launchers()) == METHODS
    known = {release.torch_npu for release in releases()}
    for row in launchers().values():
        assert {*row.without, *row.rewrites_env} <= known
    assert set(cluster_products()) <= set(products())
    assert {one for row in network_checks() for one in row.products} <= set(cluster_products())
    rows = (*launchers().values(), *environment_settings(), *cluster_products().values(), *network_checks())
    for one in (*rows, *kernel_settings(), *container_options()):
        assert one.source


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"method": "mpirun"}, "unknown launch method 'mpirun'"),
        ({"cards": 0}, "--cards 0"),
        ({"cards": 65}, "--cards 65"),
        ({"cards": 3, "soc": "910A"}, "1, 2, 4, 8 cards"),
        ({"cards": 16, "soc": "910B3"}, "has 8"),
        ({"nodes": 0}, "--nodes 0"),
        ({"nodes": 2}, "need --master"),
        ({"nodes": 2, "master": "10.0.0.256"}, "is no address"),
        ({"nodes": 2, "master": "a b"}, "neither a host name nor an address"),
        ({"nodes": 2, "master": "$(id)"}, "neither a host name nor an address"),
        ({"port": 60010}, "HCCL itself listens"),
        ({"port": 80}, "1024 to 65535"),
        ({"folder": Path("/no/such/folder")}, "no such folder"),
        ({"method": "torch_npu_run", "torch_npu": "2.2"}, "does not include torch_npu_run"),
    ],
)
def test_jobs_that_cannot_be_are_refused(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    (tmp_path / "train.py").write_text("")
    given = {"method": "torchrun", "folder": tmp_path, **values}
    release = choose_release(given.pop("torch_npu", None), None)
    with pytest.raises(NpuifyError) as refused:
        job(str(tmp_path / "train.py"), release=release, **given)
    assert said in str(refused.value)


def npuify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "npuify", "launch", *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_the_command_writes_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from accelerate import Accelerator\n")
    done = npuify(tmp_path, "train.py", "--cards", "4", "-o", "out", "--format", "json", "--", "--lr", "0.1", "-x")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["kind"], answer["world_size"], answer["commands"]) == ("launch", 4, ["bash out/run.sh"])
    assert "program=(train.py --lr 0.1 -x)" in (tmp_path / "out" / "run.sh").read_text()
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o100 or sys.platform == "win32"
    assert npuify(tmp_path, "train.py", "--cards", "4", "-o", "out", "--", "--lr", "0.1", "-x").returncode == 0

    (tmp_path / "out" / "env.sh").write_text("mine")
    (tmp_path / "out" / "run.sh").unlink()
    done = npuify(tmp_path, "train.py", "-o", "out")
    assert done.returncode == 2
    assert "env.sh: already exists" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["env.sh"]
    assert npuify(tmp_path, "train.py", "-o", "out", "--force").returncode == 0
    assert (tmp_path / "out" / "env.sh").read_text() != "mine"


def test_the_command_without_a_folder_shows_the_scripts(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('one card')\n")
    done = npuify(tmp_path, "train.py", "--method", "spawn")
    assert done.returncode == 1
    assert "==== run.sh" in done.stdout
    assert "==== spawn_ranks.py" in done.stdout
    assert "to change: it joins no process group" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "specify the program to start"),
        (["missing.py"], "missing.py: no such file"),
        (["--env", "train.py"], "--env excludes other options"),
        (["--cluster", "hosts.yaml"], "hosts.yaml: cannot be read"),
        (["--cluster", "hosts.yaml", "--cards", "2"], "come from its file"),
        (["train.py", "--nodes", "2"], "need --master"),
        (["train.py", "--method", "mpirun"], "'mpirun' is not one of"),
    ],
)
def test_wrong_use_is_said(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "train.py").write_text("")
    done = npuify(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr


def test_the_environment_alone(tmp_path: Path) -> None:
    shown = npuify(tmp_path, "--env", "--torch-npu", "2.7.1")
    assert shown.returncode == 0
    assert npuify(tmp_path, "--env", "--torch-npu", "2.7.1", "-o", ".").returncode == 0
    assert (tmp_path / "env.sh").read_text() == shown.stdout
