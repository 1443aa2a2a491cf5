"""The site of the documentation in a real browser, opened from files: it asks for nothing elsewhere, and searches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from tools.site import pictures
from tools.site.build import build
from tools.site.tree import ROOT

import npuify
from npuify.options import Options
from npuify.report import render_scan

if TYPE_CHECKING:
    from pathlib import Path

    from .driver import Browser

_FOUND = (
    "return [...document.querySelectorAll('.md-search-result__article h1, .md-search-result__article h2')]"
    ".map((one) => one.textContent).join('\\n')"
)
_SEARCH = """
document.querySelector("#__search").click();
const field = document.querySelector(".md-search__input");
field.focus();
field.value = arguments[0];
field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site") / "built"
    build(folder)
    return folder


@pytest.mark.parametrize(
    ("page", "sought", "found"), [("index.html", "nccl", "NPU301"), ("zh/index.html", "迁移", "迁移")]
)
def test_the_site_searches_without_a_server(browser: Browser, site: Path, page: str, sought: str, found: str) -> None:
    browser.screen(1280)
    browser.open((site / page).as_uri())
    browser.shoot(f"site-{page.replace('/index.html', '').replace('.html', '')}")
    browser.run(_SEARCH, sought)
    browser.wait(f"{_FOUND}.includes({found!r})", 60)
    asked = [one for one in browser.asked() if not one.startswith(("file:", "data:", "about:"))]
    assert not asked
    # The theme asks for the list of pages to keep the place when the language is changed; files do not give it.
    assert [one for one in browser.logged() if "sitemap.xml" not in one] == []


def test_the_picture_of_a_report(browser: Browser, tmp_path: Path) -> None:
    result = npuify.scan([ROOT / "examples" / "image_classification"], Options(cache=False, jobs=1))
    page = tmp_path / "report.html"
    page.write_text(render_scan(result, "html"), encoding="utf-8")
    browser.screen(1100)
    browser.open(page.as_uri())
    assert browser.run("return document.querySelectorAll('tr.row').length") > 20
    browser.shoot("report")


def test_pictures_of_the_report_are_made(tmp_path: Path) -> None:
    if not pictures.browser():
        pytest.skip("needs Chromium on the PATH")
    taken = pictures.take(tmp_path)
    shown = [picture.read_bytes() for picture in taken]
    assert [picture.name for picture in taken] == ["report.png", "report-zh.png"]
    assert shown[0] != shown[1]
    for picture, data in zip(taken, shown, strict=True):
        assert struct.unpack(">II", data[16:24]) == (pictures.WIDTH, pictures.HEIGHT)
        kept = (pictures.IMAGES / picture.name).read_bytes()
        assert struct.unpack(">II", kept[16:24]) == (pictures.WIDTH, pictures.HEIGHT)
