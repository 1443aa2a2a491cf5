"""``npuify studio`` in a real browser, on large projects: every page, from the choice to what is written."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options

pytest.importorskip("starlette", reason="npuify[studio] is not installed")
pytest.importorskip("uvicorn", reason="npuify[studio] is not installed")

from ..browser.conftest import browser
from ..browser.test_studio import Page, page, served
from .projects import LOG, NAME, PROJECTS, Measured, copied, memory_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["browser", "page", "served"]
pytestmark = [pytest.mark.thorough, pytest.mark.slow]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing passes or fails by the clock."""
    monkeypatch.setattr("tests.browser.test_studio.SECONDS", 300)


def _fill(page: Page, label: str, text: str) -> None:
    """Type into the field whose label begins so."""
    page.wait(f"[...document.querySelectorAll('label')].some((one) => one.innerText.startsWith({label!r}))")
    page.browser.run(
        "const label = [...document.querySelectorAll('label')].find((one) => one.innerText.startsWith(arguments[0]));"
        "const field = label.control ?? label.querySelector('input'); field.focus(); field.select();",
        label,
    )
    page.browser.tell("Input.insertText", text=text)


def _drop(page: Page, files: dict[str, str]) -> None:
    """Hand files to a form's fields for them, in order, as a choice of files does."""
    for number, (name, text) in enumerate(files.items()):
        page.browser.run(
            "const held = new DataTransfer(); held.items.add(new File([arguments[1]], arguments[0]));"
            "const field = document.querySelectorAll('input[type=file]')[arguments[2]]; field.files = held.files;"
            "field.dispatchEvent(new Event('change', {bubbles: true}))",
            name,
            text,
            number,
        )
        page.wait(f"document.querySelector('form').innerText.includes({name!r})")


def _ran(page: Page) -> str:
    """Press the button of a tool, say yes where it runs code, and wait for its end."""
    page.browser.run("window.confirm = () => true")
    page.wait("document.querySelector('#command').textContent.startsWith('npuify ')")
    page.click("#run")
    page.wait(
        "document.querySelector('#ended').innerText.includes('Ended') || !!document.querySelector('#ended').innerText.match(/code/)"
    )
    return page.text("#output")


@PROJECTS
def test_every_page(page: Page, checkout: Path, tmp_path: Path) -> None:
    project = copied(checkout, tmp_path / "work" / checkout.name)
    told = Measured("studio", project)

    # Choose, scan, cancel; and once more.
    page.type("form input", str(project))
    page.click("button.main", "Scan and review")
    page.click("#cancel")
    page.wait(
        "document.querySelector('.progress').innerText.includes('Cancelled') || location.hash.includes('/overview')"
    )
    page.wait("!location.hash.includes('/overview') ? !document.querySelector('form button.main').disabled : true")
    told.step("scan, cancelled")
    page.go("#/")
    page.type("form input", str(project))
    page.click("button.main", "Scan and review")
    page.wait("location.hash.includes('/overview')")
    page.ready()
    told.step("scan and migrate", len(page.text()))
    name = page.browser.run("return location.hash").split("/")[2]
    page.looks_right()
    page.shoot(f"large-{checkout.name}-overview")

    # Findings, explained, refused one by one and by rule; undone.
    page.go(f"#/review/{name}/findings")
    page.wait("document.querySelectorAll('.long-row').length > 3")
    told.step("findings", len(json.dumps(page.served.ask("items", id=name))))
    page.browser.run(
        "const one = document.querySelector('#filter-code'); one.value = 'NPU101'; one.dispatchEvent(new Event('change'))"
    )
    page.click(".long-row", "NPU101")
    page.wait("!!document.querySelector('#explain')")
    page.browser.tell("Emulation.setFocusEmulationEnabled", enabled=True)
    page.browser.run("document.querySelector('#explain').focus()")
    page.wait("!document.querySelector('#tip').hidden && document.querySelector('#tip').innerText.length > 40")
    told.step("explain", len(page.text("#tip")))
    page.shoot(f"large-{checkout.name}-findings")
    refused = page.browser.run("return document.querySelector('#detail a').innerText")
    page.click("#detail .refuse")
    page.wait("document.querySelector('#detail .mark').innerText === 'refused'")
    told.step("refuse an edit")
    page.click("#rule-refuse")
    page.wait("document.querySelector('#rule-refuse').getAttribute('aria-pressed') === 'true'")
    told.step("refuse a rule")
    page.click("#undo")
    page.wait("document.querySelector('#rule-refuse')?.getAttribute('aria-pressed') === 'false'")
    told.step("undo that")
    page.click("#detail a")
    page.wait("document.querySelectorAll('.sides .row').length > 10")
    told.step("a file's two sides", len(page.text(".sides")))
    page.looks_right()
    page.shoot(f"large-{checkout.name}-file")

    for tab in ("files", "ledger"):
        page.go(f"#/review/{name}/{tab}")
        page.wait("document.querySelector('main').innerText.length > 100")
        told.step(tab, len(json.dumps(page.served.ask("tree" if tab == "files" else "ledger", id=name))))
        page.looks_right()
        page.shoot(f"large-{checkout.name}-{tab}")
    for kind in ("html", "json"):
        told.step(f"report ({kind})", len(page.served.ask("report", id=name, format=kind)["text"]))

    # Written, with the refused place as it was.
    page.go(f"#/review/{name}/write")
    out = tmp_path / "work" / "out"
    page.type("form .field input", str(out))
    page.click("#write")
    page.wait("document.querySelector('#written').innerText.includes('Written')")
    told.step("write a copy")
    file = refused.replace("\u200b", "").rpartition(":")[0]
    decided = page.served.ask("file", id=name, file=file)["text"]
    assert (out / file).read_text(encoding="utf-8") == decided
    npuify.migrate(project, tmp_path / "all", Options(cache=False, jobs=1))
    assert (tmp_path / "all" / file).read_text(encoding="utf-8") != decided, "one edit was refused"
    assert not list((project).rglob("npuify-report")), "the project stays as it is"

    # The other commands' pages.
    page.go("#/tool/launch")
    _fill(page, "Folder to run in", str(out))
    _fill(page, "Program", NAME)
    page.wait("document.querySelector('#output').innerText.includes('torchrun')")
    told.step("launch", len(page.text("#output")))
    page.go("#/tool/distribute")
    _fill(page, "Project", str(project))
    _fill(page, "Main file", NAME)
    assert "init_process_group" in _ran(page)
    told.step("distribute", len(page.text("#output")))
    page.go("#/tool/diagnose")
    _drop(page, {"own_failed.log": LOG})
    assert "NCCL" in _ran(page)
    told.step("diagnose", len(page.text("#output")))
    page.go("#/tool/doctor")
    assert "Python" in _ran(page)
    told.step("doctor", len(page.text("#output")))
    page.go("#/tool/verify-loss")
    curve = "\n".join(f"step {one} loss {3 / (one + 1):.4f}" for one in range(30))
    _drop(page, {"a.log": curve, "b.log": curve + "\nend"})
    assert "agree" in _ran(page).lower()
    told.step("verify loss", len(page.text("#output")))
    if importlib.util.find_spec("torch") is not None and os.name == "posix":
        page.go("#/tool/simulate")
        _fill(page, "Folder to run in", str(out))
        _fill(page, "Program", f"{NAME} --device npu")
        assert "0 " in _ran(page)
        told.step("simulate", len(page.text("#output")))
        page.go("#/tool/verify-steps")
        _fill(page, "Project", str(project))
        _fill(page, "Migrated copy", str(out))
        _fill(page, "Main file", f"{NAME} --device={{device}}")
        assert "agree" in _ran(page)
        told.step("verify steps", len(page.text("#output")))
    page.clean(expected="400 (Bad Request)")
    print(f"  most memory: {memory_of(os.getpid())} MiB, with the tests themselves")
