"""A browser driven through its chromedriver, which speaks WebDriver: JSON over HTTP, for which no package is needed."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SHOTS = os.environ.get("NPUIFY_SCREENSHOTS", "")
"""A folder that screenshots are written to; empty: none is."""
_OPTIONS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-default-apps --disable-extensions
""".split()


def programs() -> tuple[str, str] | None:
    """The browser and its driver; None where one of them is not installed."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One page at a time, with what it logged and asked for from elsewhere.

    Args:
        folder: an empty one, for the browser's profile.

    Raises:
        OSError: the driver or the browser does not start.
    """

    def __init__(self, browser: str, driver: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
        )
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            said += line
            if port := re.search(r"started successfully on port (\d+)", line):
                break
        else:
            raise OSError(f"chromedriver does not start: {said}")
        self._address = f"http://127.0.0.1:{port[1]}/session"
        wanted = {
            "goog:chromeOptions": {"binary": browser, "args": [*_OPTIONS, f"--user-data-dir={folder}"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        try:
            made = self._post("", {"capabilities": {"alwaysMatch": wanted}})
        except OSError:
            self._process.terminate()
            raise
        self._address += "/" + made["sessionId"]
        self.open("about:blank")
        self.logged(), self.asked()

    def close(self) -> None:
        """End the browser and its driver."""
        request = urllib.request.Request(self._address, method="DELETE")
        try:
            urllib.request.urlopen(request, timeout=30).close()
        finally:
            self._process.terminate()
            self._process.wait(30)

    def open(self, address: str) -> None:
        """Load a page, and wait until it has."""
        self._post("/url", {"url": address})

    def run(self, script: str, *arguments: object) -> Any:
        """What ``script``, the body of a function, returns."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def tell(self, command: str, **parameters: object) -> Any:
        """A command of the DevTools protocol."""
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screen(self, width: int, scheme: str = "light", *, media: str = "") -> None:
        """The screen's width in CSS pixels, whether the user wants it dark, and what for it is drawn."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key: str, code: int) -> None:
        """One key, on what has the focus."""
        one = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": "\r" if key == "Enter" else key}
        self.tell("Input.dispatchKeyEvent", type="keyDown", **one)
        self.tell("Input.dispatchKeyEvent", type="keyUp", **one)

    def wait(self, script: str, seconds: float = 300) -> None:
        """Wait until what ``script`` returns is true."""
        until = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < until, f"never true: {script}"
            time.sleep(0.02)

    def shoot(self, name: str) -> None:
        """Write a picture of what is seen into the folder that ``NPUIFY_SCREENSHOTS`` names; none where it is not set."""
        if SHOTS:
            data = self.tell("Page.captureScreenshot", format="png")["data"]
            (Path(SHOTS) / f"{name}.png").write_bytes(base64.b64decode(data))

    def logged(self) -> list[str]:
        """What was written to the console since the last call: errors of scripts, and refusals by the page's policy."""
        return [one["message"] for one in self._post("/se/log", {"type": "browser"})]

    def asked(self) -> list[str]:
        """The addresses asked for since the last call."""
        messages = [json.loads(one["message"])["message"] for one in self._post("/se/log", {"type": "performance"})]
        return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        data = json.dumps(body).encode("utf-8")
        request = urllib.request.Request(self._address + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.loads(answer.read())["value"]
