"""The HTML reports in a real browser: nothing of a hostile project runs, nothing is fetched, and every control works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

import npuify
from npuify.diagnosis.page import render_html as diagnosis_page
from npuify.doctor.capture import encode_capture
from npuify.doctor.examine import check_environment
from npuify.doctor.page import render_html as doctor_page
from npuify.handover.checklist.pages import render as handover_page
from npuify.handover.checklist.points import checklist
from npuify.handover.checklist.record import read_record
from npuify.options import Options
from npuify.report import render_scan
from npuify.trace.render import render as trace_page
from npuify.verify.comparison.render import render as comparison_page
from npuify.verify.comparison.result import Comparison, Difference, LossPair, Point, Side
from npuify.verify.loss.page import render_html as loss_page
from npuify.verify.loss.run import compare_losses
from npuify.verify.profile.page import render_html as profile_page
from npuify.verify.profile.run import read_profile
from npuify.verify.steps.model import Status, StepResult, Where
from npuify.verify.steps.page import render_html as acceptance_page

from ..doctor.machines import load
from ..trace import test_verdict as trace
from ..verify.profile import profiles
from ..verify.steps.test_steps import report as acceptance

if TYPE_CHECKING:
    from .driver import Browser

OPTIONS = Options(cache=False, jobs=1)
PWN = "window.pwned=1"
MARKUP = f"</script></style></title><script>{PWN}</script><img src=x onerror={PWN}>]]>\u202e\u200b&#x202e;\"'`$"
FOLDER = "x" if os.name == "nt" else f"<svg onload={PWN}>"
NAMES = (
    f"<img src=x onerror={PWN}>.py",
    f'"onmouseover="{PWN}" x=".py',
    f"'><svg onload={PWN}>.py",
    f"javascript:{PWN}.py",
    f"</script><script>{PWN}</script>.py",
    "]]><!--.py",
    "&lt;script&gt;.py",
    "`${" + PWN + "}`.py",
    "gnp\u202eyp.py",
    "zero\u200bwidth\ufeff.py",
    "new\nline\x1b[31m.py",
    "bytes\udcff\udcfe.py",
    "a" * 200 + ".py",
)
CODE = f"""import torch

# {MARKUP}
x = torch.cuda.Event()  # {MARKUP}
y = "{PWN}" if torch.cuda.nccl.version() else '<svg onload={PWN}>'
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose names and texts are markup, scripts, bytes that are no text, and a line of a megabyte."""
    root = tmp_path_factory.mktemp("x") / FOLDER
    root.mkdir()
    for name in NAMES:
        try:
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(CODE, encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue  # not a name on this system
    (root / "long.py").write_text(f'import torch\nx = "{"<i>" * 330_000}"; torch.cuda.synchronize()\n')
    (root / "bytes.py").write_bytes(b"import torch\nx = '\xff\xfe<b>'\ntorch.cuda.synchronize()\n")
    (root / "requirements.txt").write_text(f"torch==2.7.1  # {PWN}\nflash-attn  # <script>{PWN}</script>\n")
    (root / "README.md").write_text(f"    python long.py --x '<img src=x onerror={PWN}>'\n")
    return root


def compared() -> Comparison:
    """A comparison of two captures whose modules have hostile names."""
    side = Side(MARKUP, "npuify", "cpu", MARKUP, "2.13.0", "", False, 1, 2, 40, 0, 0, (MARKUP,))
    points = tuple(
        Point(
            at,
            f"{MARKUP}.{at}",
            at // 20,
            "train",
            direction,
            0.0,
            10.0 ** (at / 8 - 7),
            1e-5,
            0.99,
            1.0,
            0.1,
            2.0,
            0.5,
        )
        for at in range(40)
        for direction in ("forward", "backward")
    )
    first = Difference(kind="forward", severity="error", name=MARKUP, message=MARKUP, at=20, place=MARKUP, where=MARKUP)
    return Comparison(
        agrees=False,
        verdict=MARKUP,
        a=side,
        b=side,
        first=first,
        differences=(first, msgspec.structs.replace(first, severity="warning")),
        points=points,  # type: ignore[arg-type]
        losses=(LossPair(0, 0, 1.0, 1.1, 0.1),),
        remarks=(MARKUP,),
        matched=40,
        unmatched=(0, 0),
        worst=1.0,
    )


@pytest.fixture(scope="module")
def pages(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of HTML report, by name."""
    folder = tmp_path_factory.mktemp("pages")
    out = folder / "migrated"
    npuify.migrate(project, out, OPTIONS)
    made = {
        "migrate": (out / "npuify-report/report.html").read_text(encoding="utf-8"),
        "scan": render_scan(npuify.scan([project], OPTIONS), "html"),
        "nothing": render_scan(npuify.scan([tmp_path_factory.mktemp("empty")], OPTIONS), "html"),
        "checklist": handover_page(checklist(read_record(out, OPTIONS)), "html"),
    }
    capture = load("broken_health")
    table = capture.commands["npu-smi info"]
    hostile = msgspec.structs.replace(table, stdout=table.stdout.replace("Alarm", f"<script>{PWN}</script>"))
    machine = folder / "machine.json"
    commands = {**capture.commands, "npu-smi info": hostile}
    machine.write_bytes(encode_capture(msgspec.structs.replace(capture, commands=commands)))
    made["doctor"] = doctor_page(check_environment(captured=machine))
    log = folder / "rank0.log"
    log.write_text(f"RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB {MARKUP}\n", encoding="utf-8")
    made["diagnose"] = diagnosis_page(npuify.diagnose([log]))
    for name, factor in (("a", 1.0), ("b", 1.1)):
        rows = "".join(f"{step},{factor * (3 - step / 100)}\n" for step in range(200))
        (folder / f"{name}{FOLDER}.csv").write_text(f"step,loss\n{rows}")
    made["loss"] = loss_page(compare_losses(*(folder / f"{name}{FOLDER}.csv" for name in "ab")))
    kernels = [profiles.kernel(MARKUP, "AI_CORE", 10), profiles.kernel("A" * 300, "AI_CORE", 20)]
    profile = profiles.torch_npu(folder, [(300.0, 100.0, 700.0)] * 80, kernels, trace=profiles.host_trace())
    made["profile"] = profile_page(read_profile(profile))
    traced = trace.result(trace.row(f"other::{MARKUP}", file=f"/{MARKUP}.py"), notes=[MARKUP])
    made["trace"] = trace_page(msgspec.structs.replace(traced, script=MARKUP), "html")
    made["compare"] = comparison_page(compared(), "html")
    step = StepResult("forward", MARKUP, Status.FAILED, Where.SIMULATION, MARKUP, (MARKUP,), MARKUP, (MARKUP,))
    made["steps"] = acceptance_page(acceptance(step))
    found = {}
    for name, text in made.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(text, encoding="utf-8")
    return found


PAGES = (
    "migrate",
    "scan",
    "nothing",
    "checklist",
    "doctor",
    "diagnose",
    "loss",
    "profile",
    "trace",
    "compare",
    "steps",
)
EVERYTHING = """
for (const one of document.querySelectorAll("details")) one.open = true;
for (const one of document.querySelectorAll("tr.row")) one.click();
for (const one of document.querySelectorAll("*")) one.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
"""
TOO_WIDE = """
const scrolls = (element) => {
  for (let at = element; at; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") return true;
};
return [...document.body.querySelectorAll("*")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1) && !scrolls(one);
}).map((one) => one.tagName + " " + one.textContent.slice(0, 40));
"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_nothing_asks_for_nothing_and_fits(browser: Browser, pages: dict[str, Path], name: str) -> None:
    address = pages[name].as_uri()
    screens = ((1400, "light"), (390, "dark"), (800, "dark"), (390, "light"))
    for width, scheme in screens if name in {"migrate", "scan"} else screens[:2]:
        browser.screen(width, scheme)
        browser.open(address)
        browser.run(EVERYTHING)
        assert browser.run(TOO_WIDE) == []
        assert browser.run(CONTRAST) == []
        assert browser.run("return typeof window.pwned") == "undefined"
        assert (
            browser.run("return document.querySelectorAll('img, a, iframe, form, object, [onload], [style]').length")
            == 0
        )
        assert browser.run("return document.scripts.length") == (2 if name in {"migrate", "scan", "nothing"} else 0)
    assert browser.logged() == []
    assert set(browser.asked()) == {address}


CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def test_a_policy_that_is_broken_would_be_seen(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    text = pages["migrate"].read_text(encoding="utf-8").replace("</main>", f"<img src=y.png onerror={PWN}></main>")
    page = tmp_path / "hostile.html"
    page.write_text(text.replace("<body>", f"<body><script>{PWN}</script>"), encoding="utf-8")
    browser.open(page.as_uri())
    refusals = browser.logged()
    assert browser.run("return typeof window.pwned") == "undefined"
    assert sum("Content Security Policy" in one for one in refusals) >= 2
    browser.asked()


# --- the controls ----------------------------------------------------------------------------------------------------

ROWS = """
return [...document.querySelectorAll("tr.row")].map((row) => [...row.cells].map((cell) => cell.textContent));
"""
CHOOSE = """
const one = document.getElementById(arguments[0]);
one.value = arguments[1];
one.dispatchEvent(new Event("input"));
"""


@pytest.fixture
def report(browser: Browser, pages: dict[str, Path]) -> Browser:
    browser.screen(1400)
    browser.open(pages["migrate"].as_uri())
    return browser


def rows(browser: Browser) -> list[list[str]]:
    found: list[list[str]] = browser.run(ROWS)
    return found


def test_filters_and_the_search_choose_the_rows(report: Browser) -> None:
    everything = rows(report)
    assert {row[0] for row in everything} >= {"edited", "review"}
    for control, value, column, shown in (
        ("status", "review", 0, "review"),
        ("severity", "error", 1, "error"),
        ("q", "npu101", 2, "NPU101"),
    ):
        report.run(CHOOSE, control, value)
        chosen = rows(report)
        assert chosen and {row[column] for row in chosen} == {shown}
        assert report.run("return document.getElementById('count').textContent").split()[0] == str(len(chosen))
        report.run("document.getElementById('clear').click()")
        assert rows(report) == everything
    files = report.run("return [...document.getElementById('file').options].map((one) => one.value).slice(1)")
    assert len(files) >= 5
    for file in files:
        report.run(CHOOSE, "file", file)
        assert {row[3].rsplit(":", 1)[0] for row in rows(report)} == {file if len(file) <= 120 else "…" + file[-119:]}
    report.run(CHOOSE, "q", "no such thing")
    assert rows(report) == []
    assert "Nothing fits these filters." in report.run("return document.getElementById('rows').textContent")


def test_tiles_and_bars_filter_and_are_pressed_again_to_undo(report: Browser) -> None:
    everything = rows(report)
    for tile, shown in (("review", "review"), ("migrated", "edited")):
        find = f"document.querySelector('.tile[data-value={tile}]')"
        report.run(f"{find}.click()")
        assert {row[0] for row in rows(report)} == {shown}
        assert report.run(f"return {find}.ariaPressed") == "true"
        report.run(f"{find}.click()")
        assert rows(report) == everything
    report.run("document.querySelectorAll('.bar[data-kind=file]')[1].focus()")
    report.press("Enter", 13)
    assert 0 < len(rows(report)) < len(everything)
    assert len({row[3].rsplit(":", 1)[0] for row in rows(report)}) == 1
    assert report.run("return document.activeElement.ariaPressed") == "true"


def test_columns_sort_both_ways(report: Browser) -> None:
    for number, column in ((2, "code"), (4, "message")):
        report.run(f"document.querySelector('[data-sort={column}]').click()")
        up = [row[number] for row in rows(report)]
        assert up == sorted(up) and up[0] != up[-1]
        report.run(f"document.querySelector('[data-sort={column}]').click()")
        down = [row[number] for row in rows(report)]
        assert down == sorted(down, reverse=True)
        assert (
            report.run(f"return document.querySelector('[data-sort={column}]').parentElement.ariaSort") == "descending"
        )


def test_a_row_opens_by_the_keyboard_and_shows_its_code(report: Browser) -> None:
    report.run(CHOOSE, "q", "npu101 long.py")
    assert len(rows(report)) == 1
    report.run("document.querySelector('tr.row button').focus()")
    report.press("Enter", 13)
    lines = report.run("return [...document.querySelectorAll('tr.detail .code div')].map((one) => one.textContent)")
    assert any("torch.npu.synchronize" in line for line in lines), "the part of a long line that was changed"
    assert all(len(line) < 400 for line in lines)
    assert report.run("return document.activeElement.ariaExpanded") == "true"
    report.press("Enter", 13)
    assert report.run("return document.querySelectorAll('tr.detail').length") == 0
    assert report.run("return document.activeElement.ariaExpanded") == "false"


def test_changes_open_and_close_and_print_is_light(report: Browser) -> None:
    button = "document.getElementById('open-all')"
    opened = "[...document.querySelectorAll('#diffs details')].map((one) => one.open)"
    assert not any(report.run(f"return {opened}"))
    report.run(f"{button}.click()")
    report.wait(f"return {button}.textContent === 'Close all'")
    assert all(report.run(f"return {opened}"))
    assert report.run("return document.querySelectorAll('#diffs .add').length") > 5
    report.run(f"{button}.click()")
    assert not any(report.run(f"return {opened}"))
    colour = "return getComputedStyle(document.querySelector('h1')).color"
    light = report.run(colour)
    report.run("document.getElementById('theme').click()")
    assert report.run(colour) != light
    report.screen(800, media="print")
    assert report.run(colour) == light
    assert report.run("return getComputedStyle(document.querySelector('.filters')).display") == "none"
    report.screen(800)
