"""The extension for VS Code: its types, its style, its own tests, and that it packs; with npm, where that is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((HERE / "package.json").read_text(encoding="utf-8"))


def npm(*words: str, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [str(shutil.which("npm")), *words]
    environment = {**os.environ, "NO_COLOR": "1", "npm_config_update_notifier": "false"}
    return subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, timeout=seconds, check=False, env=environment
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its packages, as the lock file has them; npm is asked for them where they are not there, or are others."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    stamp = HERE / "node_modules" / ".installed-for"
    wanted = (HERE / "package-lock.json").read_text(encoding="utf-8")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    try:
        done = npm("ci", "--no-audit", "--no-fund", "--prefer-offline", seconds=240)
    except subprocess.TimeoutExpired:
        pytest.skip("the packages of editors/vscode cannot be installed by npm: no answer")
    if done.returncode != 0:
        pytest.skip(f"the packages of editors/vscode cannot be installed by npm: {done.stderr.strip()[-300:]}")
    stamp.write_text(wanted, encoding="utf-8")


@pytest.mark.parametrize("script", ["check", "test"])
def test_types_style_and_its_own_tests(installed: None, script: str) -> None:
    done = npm("run", "--silent", script, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_it_packs(installed: None) -> None:
    done = npm("run", "--silent", "package", seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(HERE / "npuify.vsix") as packed:
        assert {"extension/package.json", "extension/dist/extension.js", "extension/LICENSE.txt"} <= set(
            packed.namelist()
        )
        assert b"npuify.migrateProject" in packed.read("extension/dist/extension.js")


def test_what_it_offers() -> None:
    texts = json.loads((HERE / "package.nls.json").read_text(encoding="utf-8"))
    chinese = json.loads((HERE / "package.nls.zh-cn.json").read_text(encoding="utf-8"))
    assert texts.keys() == chinese.keys()
    commands = {one["command"]: texts[one["title"].strip("%")] for one in PACKAGE["contributes"]["commands"]}
    assert (
        commands["npuify.migrateProject"] == "Migrate this project…" and commands["npuify.openStudio"] == "Open studio"
    )
    clicked = {one["command"]: one["when"] for one in PACKAGE["contributes"]["menus"]["explorer/context"]}
    assert clicked["npuify.migrateProject"] == "explorerResourceIsFolder"
    source = (HERE / "src" / "extension.ts").read_text(encoding="utf-8")
    own = [name for name in commands if name != "npuify.scanWorkspace"]  # that is the server's
    assert all(f'"{name}"' in source for name in own)
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"][""]["devDependencies"] == PACKAGE["devDependencies"]
    assert not any("resolved" in one for one in lock["packages"].values()), "no host is written down"
