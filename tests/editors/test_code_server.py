"""The extension in VS Code itself, as code-server serves it, driven in a browser; where both are installed.

``npm install code-server`` needs network for more than npm; built without its downloads it works as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import npuify

from ..browser.driver import Browser, programs
from .test_vscode import HERE, installed, npm

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["installed"]
pytest.importorskip("pygls", reason="npuify[lsp] is not installed")
CODE = shutil.which("code-server")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CODE is None, reason="code-server is not installed"),
    pytest.mark.skipif(programs() is None, reason="needs Chromium and its chromedriver on the PATH"),
]
TRAIN = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n"
SECONDS = 90
_ROWS = "[...document.querySelectorAll('.explorer-folders-view .monaco-list-row')]"
_MENU = """(() => {
    const found = [];
    const walk = (node) => {
        node.querySelectorAll('*').forEach((one) => one.shadowRoot && walk(one.shadowRoot));
        found.push(...node.querySelectorAll('.action-label'));
    };
    walk(document);
    return found;
})()"""


class Editor:
    """VS Code, as a user sees and handles it."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def wait(self, script: str) -> None:
        try:
            self.browser.wait(f"return {script}", SECONDS)
        except AssertionError as error:
            self.browser.shoot("code-server-failed")
            text = self.browser.run("return document.body.innerText")
            raise AssertionError(f"{error}\n{text}") from None

    def click(self, element: str, *, button: str = "left", times: int = 1) -> None:
        self.wait(f"!!{element}")
        x, y = self.browser.run(
            f"const at = {element}.getBoundingClientRect();"
            "return [at.left + Math.min(at.width / 2, 40), at.top + at.height / 2]"
        )
        self.browser.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.browser.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=count)

    def click_until(self, element: str, told: str, *, button: str = "left") -> None:
        """Click until what is wanted is there: a menu takes no click for a moment after it has opened."""
        until = time.monotonic() + SECONDS
        while not self.browser.run(f"return {told}"):
            assert time.monotonic() < until, f"never true: {told}"
            if self.browser.run(f"return !!{element}"):
                self.click(element, button=button)
            time.sleep(1)

    def row(self, name: str) -> str:
        return f"{_ROWS}.find((one) => one.innerText.trim() === {name!r})"

    def enter(self, asked: str) -> None:
        """Take what a dialog proposes, once it asks."""
        self.wait(f"document.querySelector('.quick-input-widget')?.innerText.includes({asked!r})")
        self.browser.press("Enter", 13)


@pytest.fixture
def editor(installed: None, tmp_path: Path) -> Iterator[tuple[Editor, Path]]:
    work = tmp_path / "work"
    (work / "app").mkdir(parents=True)
    (work / "app" / "train.py").write_text(TRAIN)
    (work / "other").mkdir()
    (work / "other" / "train.py").write_text(TRAIN)
    packed = npm("run", "--silent", "package", seconds=120)
    assert packed.returncode == 0, packed.stderr
    data, extensions = tmp_path / "data", tmp_path / "extensions"
    (data / "User").mkdir(parents=True)
    settings = {
        "npuify.python": sys.executable,
        "files.autoSave": "afterDelay",
        "workbench.startupEditor": "none",
        "telemetry.telemetryLevel": "off",
    }
    (data / "User" / "settings.json").write_text(json.dumps(settings))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(Path(npuify.__file__).parents[1]), *filter(None, sys.path)]),
    }
    command = [str(CODE), "--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    subprocess.run(
        [*command, "--install-extension", str(HERE / "npuify.vsix")], env=environment, check=True, timeout=120
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-workspace-trust", "--disable-update-check"]
    server = subprocess.Popen([*command, *more, str(work)], env=environment, stdout=subprocess.DEVNULL)
    found = programs()
    assert found is not None
    browser = Browser(*found, tmp_path / "profile")
    try:
        for _ in range(300):
            # It listens before it answers.
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10):
                break
            time.sleep(0.1)
        browser.screen(1280)
        browser.open(f"http://127.0.0.1:{port}/?folder={work}")
        yield Editor(browser), work
    finally:
        browser.close()
        server.terminate()
        server.wait(30)


def test_a_file_is_mended_and_a_folder_migrated(editor: tuple[Editor, Path]) -> None:
    code, work = editor
    code.click(code.row("app"))
    code.click(code.row("train.py"), times=2)
    code.wait("document.querySelectorAll('.squiggly-error, .squiggly-warning, .squiggly-info').length > 0")
    lens = "[...document.querySelectorAll('.codelens-decoration a')].find((one) => one.innerText.includes('npuify: 2 places'))"
    code.wait(f"!!{lens}")
    # A click on the lens makes all safe edits.
    code.click_until(lens, "document.querySelector('.view-lines')?.innerText.includes('torch.npu.synchronize')")
    until = time.monotonic() + SECONDS
    while "torch.npu.synchronize()" not in (work / "app" / "train.py").read_text():
        assert time.monotonic() < until, "the file was not saved"
        time.sleep(0.2)
    # Right click on the folder, as in the vendor's tool.
    entry = f"{_MENU}.find((one) => (one.innerText || one.ariaLabel || '').includes('Migrate this project'))"
    code.click_until(code.row("other"), f"!!{entry}", button="right")
    code.click_until(entry, "!!document.querySelector('.quick-input-widget')?.innerText.includes('The project itself')")
    code.enter("The project itself stays as it is")
    code.enter("portable")
    code.enter("The whole way")
    code.wait("document.querySelector('.notifications-toasts')?.innerText.includes('migrated to')")
    assert "torch.npu.synchronize()" in (work / "other_npu" / "train.py").read_text()
    assert (work / "other" / "train.py").read_text() == TRAIN
