"""Pictures of the report for the README and the site, taken in a browser without a window."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import npuify
from npuify.options import Options
from npuify.report import render_scan
from tools.site.languages import LANGUAGES
from tools.site.tree import DOCS, ROOT

IMAGES = DOCS / "images"
WIDTH, HEIGHT = 1100, 900
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser() -> str:
    """The program that takes the pictures; empty where there is none."""
    return next(filter(None, map(shutil.which, _BROWSERS)), "")


def take(folder: Path = IMAGES) -> list[Path]:
    """Take ``report.png`` and its like in other languages, of the scan that the README shows.

    Raises:
        RuntimeError: there is no browser, or it takes no picture.
    """
    program = browser()
    if not program:
        raise RuntimeError(f"none of these is on the PATH: {', '.join(_BROWSERS)}")
    taken = []
    with tempfile.TemporaryDirectory() as work:
        for language in LANGUAGES:
            project = ROOT / "examples" / "image_classification"
            result = npuify.scan([project], Options(cache=False, jobs=1, language=language.name))
            page = Path(work, f"{language.name}.html")
            page.write_text(render_scan(result, "html"), encoding="utf-8")
            picture = folder / f"report{f'-{language.folder}' if language.folder else ''}.png"
            options = (
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={work}/profile",
            )
            command = [program, *options, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", page.as_uri()]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if not picture.is_file():
                raise RuntimeError(f"{program} took no picture:\n{done.stderr}")
            taken.append(picture)
    return taken
