"""The page on many projects in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.fleet.model import Obstacle, Operator
from npuify.fleet.reports.page import render_html
from npuify.fleet.reports.report import Fault, Hours, Move, Project, Report, Tool, Trend, Used, decisions

from .test_pages import CONTRAST, EVERYTHING, MARKUP, TOO_WIDE

if TYPE_CHECKING:
    from pathlib import Path

    from .driver import Browser

APEX = Obstacle("package", "apex", MARKUP, MARKUP, MARKUP, 3)
OWN = Obstacle("kernels", MARKUP, MARKUP, MARKUP, MARKUP, 3)
LONG = "a" * 300


def project(name: str, level: str, hours: float, *obstacles: Obstacle, fault: Fault | None = None) -> Project:
    return Project(
        name=name,
        source=f"/{MARKUP}/{name}",
        revision=MARKUP,
        state="failed" if fault else "done",
        level=level,  # type: ignore[arg-type]
        title=MARKUP,
        summary=MARKUP,
        hours=Hours(1, hours, 20),
        torch_npu="2.7.1",
        files=3,
        bytes=4,
        migrated=5,
        review=6,
        manual=7,
        notes=8,
        errors=9,
        obstacles=obstacles,
        operators=(Operator(MARKUP, 2), Operator(LONG, 1)),
        codes={"NPU101": 1},
        fault=fault,
        seconds=1.0,
        made="2026-01-01T00:00:00+00:00",
        report="" if fault else "projects/x-0123.html",
        earlier="work",
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    projects = (
        project(MARKUP, "blocked", 30, APEX),
        project("beta", "blocked", 10, APEX, OWN),
        project(LONG, "runs", 20),
        project("gone", "", 0, fault=Fault("missing", MARKUP, MARKUP)),
    )
    levels = {"runs": 1, "review": 0, "work": 0, "blocked": 2, "failed": 1, "waiting": 0}
    moves = (Move(MARKUP, "work", "blocked"),)
    trend = Trend(1, "2026-01-01", levels, Hours(1, 2, 3), moves, moves, (MARKUP,), (LONG,))
    report = Report(
        version=1,
        tool=Tool("npuify", "1"),
        language="en",
        run=2,
        started="2026-01-02",
        ended="2026-01-02",
        list=MARKUP,
        levels=levels,
        hours=Hours(3, 60, 60),
        decisions=decisions(projects),
        operators=(Used(MARKUP, 3, 6), Used(LONG, 3, 3)),
        trend=trend,
        projects=projects,
    )
    file = tmp_path_factory.mktemp("fleet") / "index.html"
    file.write_text(render_html(report), encoding="utf-8")
    return file


def shown(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('#rows tr')].filter((row) => !row.hidden)"
        ".map((row) => row.querySelector('summary').textContent.slice(0, 4))"
    )
    return found


def test_the_page_runs_nothing_asks_for_nothing_and_fits(browser: Browser, page: Path) -> None:
    for width, scheme in ((1400, "light"), (390, "dark"), (390, "light")):
        browser.screen(width, scheme)
        browser.open(page.as_uri())
        browser.run(EVERYTHING)
        assert browser.run(TOO_WIDE) == []
        assert browser.run(CONTRAST) == []
        assert browser.run("return typeof window.pwned") == "undefined"
        links = browser.run("return [...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))")
        assert set(links) == {"projects/x-0123.html"}
        assert (
            browser.run("return document.querySelectorAll('img, iframe, form, object, [onload], [style]').length") == 0
        )
    assert browser.logged() == []
    assert set(browser.asked()) == {page.as_uri()}


def test_what_is_chosen_and_sorted(browser: Browser, page: Path) -> None:
    browser.screen(1400)
    browser.open(page.as_uri())
    everything = shown(browser)
    assert len(everything) == 4
    for find, names in (
        (".tile[data-level=runs]", ["aaaa"]),
        ("button[data-decision='0']", [everything[0], "beta"]),
        ("button[data-decision='1']", ["beta"]),
    ):
        browser.run(f'document.querySelector("{find}").click()')
        assert shown(browser) == names
        assert browser.run(f'return document.querySelector("{find}").ariaPressed') == "true"
        browser.run("document.getElementById('clear').click()")
        assert shown(browser) == everything
    browser.run("document.querySelector('[data-sort=hours]').click()")
    assert shown(browser) == ["gone", "beta", "aaaa", everything[0]]
    browser.run("document.querySelector('[data-sort=hours]').click()")
    assert shown(browser)[0] == everything[0]
    assert browser.run("return document.querySelector('[data-sort=hours]').parentElement.ariaSort") == "descending"
