"""The page of npuify studio in a real browser, from the choice of a project to the written result."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="npuify[studio] is not installed")
pytest.importorskip("uvicorn", reason="npuify[studio] is not installed")

from npuify.review import review as review_module

from ..studio.served import Served, serving
from .test_pages import NAMES, PWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.options import Options

    from .driver import Browser

pytestmark = pytest.mark.slow
TRAIN = """import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    model = torch.nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        loss = model(torch.ones(1, 2, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 0:
            print(step, loss.item())
        if loss < 0:
            break
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
"""
SECONDS = 60 if os.environ.get("NPUIFY_BROWSER") else 15
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("state")) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "detector"
    (folder / "tools").mkdir(parents=True)
    (folder / "train.py").write_text(TRAIN)
    (folder / "tools" / "run.sh").write_text(
        "#!/bin/sh\nCOUNT=$(nvidia-smi -L | wc -l)\npython train.py --gpus $COUNT\n"
    )
    (folder / "requirements.txt").write_text("torch==2.7.1\nflash-attn>=2.5\n")
    (folder / "bad.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    return folder


class Page:
    """The page, as a user sees and handles it."""

    def __init__(self, browser: Browser, served: Served) -> None:
        self.browser, self.served = browser, served
        browser.screen(1280)
        browser.open("about:blank")
        browser.open(served.address)
        browser.run("localStorage.clear()")
        browser.open("about:blank")
        browser.logged(), browser.asked()
        browser.open(served.address)
        self.ready()

    def until(self, script: str) -> None:
        try:
            self.browser.wait(script, SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}\n{self.text('#said')}\n{self.browser.logged()}") from None

    def ready(self) -> None:
        self.until(
            "return document.querySelector('.page')?.dataset.ready === 'yes' || !!document.querySelector('.page [role=alert]')"
        )

    def go(self, address: str) -> None:
        self.browser.run(
            "document.querySelector('.page').dataset.ready = '';"
            "if (location.hash === arguments[0]) dispatchEvent(new Event('hashchange')); else location.hash = arguments[0]",
            address,
        )
        self.ready()

    def text(self, selector: str = "main") -> str:
        found: str = self.browser.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        return found

    def click(self, selector: str, text: str = "") -> None:
        """A click of the mouse, which fails on what cannot be seen."""
        script = """
            const found = [...document.querySelectorAll(arguments[0])].find((one) => one.innerText.includes(arguments[1]));
            if (!found) return null;
            found.scrollIntoView({block: 'center'});
            const place = found.getBoundingClientRect();
            const at = [place.left + place.width / 2, place.top + place.height / 2];
            const top = document.elementFromPoint(...at);
            return found.contains(top) ? at : ['covered by', top?.outerHTML];
        """
        self.until(
            f"return [...document.querySelectorAll({selector!r})].some((one) => one.innerText.includes({text!r}) && !one.disabled)"
        )
        at = self.browser.run(script, selector, text)
        assert at and isinstance(at[0], (int, float)), (selector, at)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.tell("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        self.until(f"return !!document.querySelector({selector!r})")
        self.browser.run("const one = document.querySelector(arguments[0]); one.focus(); one.select?.()", selector)
        self.browser.tell("Input.insertText", text=text)

    def wait(self, script: str) -> None:
        self.until(f"return {script}")

    def open(self, folder: Path, **options: Any) -> str:
        """A review, opened by a question of our own; its page is shown."""
        name = self.served.opened(folder, **options)
        self.go(f"#/review/{name}/overview")
        return name

    def clean(self, *, expected: str = "") -> None:
        """Nothing was refused by the page's policy, no script failed, and nothing was asked of another server."""
        logged = [one for one in self.browser.logged() if not expected or expected not in one]
        assert not logged, logged
        asked = self.browser.asked()
        assert all(
            one.startswith((f"http://127.0.0.1:{self.served.port}/", "about:", "blob:", "data:")) for one in asked
        ), asked

    def shoot(self, name: str) -> None:
        self.browser.shoot(name)

    def looks_right(self) -> None:
        """Nothing is cut off sideways, every control has a name, and every text has contrast."""
        wide = self.browser.run(
            "return [document.documentElement.scrollWidth, innerWidth, [...document.querySelectorAll('main *, header *')]"
            ".filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('pre, textarea, .long-list, .names')).map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)]"
        )
        assert wide[0] <= wide[1], wide
        nameless = self.browser.run(
            "return [...document.querySelectorAll('button, a, input, select, textarea, [role=listbox]')].filter((one) => "
            "!(one.getAttribute('aria-label') || one.innerText?.trim() || [...(one.labels || [])].some((label) => label.innerText.trim())))"
            ".filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 200))"
        )
        assert not nameless, nameless


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    for one in served.ask("start")["open"]:
        served.ask("close", id=one["id"])
    yield Page(browser, served)
    with contextlib.suppress(OSError):
        browser.open("about:blank")


def test_the_whole_way(page: Page, project: Path, tmp_path: Path) -> None:
    assert "token" not in page.browser.run("return location.href")
    page.looks_right()
    page.shoot("start")
    page.click("button[aria-label^='Choose… Input path']")
    page.type("dialog input", str(tmp_path))
    page.click("dialog form button")
    page.click("dialog .names button", "detector")
    page.wait("document.querySelector('dialog input').value.endsWith('detector')")
    page.click("dialog button.main")
    page.wait("!document.querySelector('dialog')")
    assert page.browser.run("return document.querySelector('form input').value") == str(project)
    page.click("button.main", "Scan and review")
    page.wait("location.hash.includes('/overview')")
    page.ready()
    assert "By area" in page.text() and "bad.py" in page.text("#errors")
    page.looks_right()
    page.shoot("overview")
    page.click(".tabs a", "Findings")
    page.wait("document.querySelectorAll('.long-row').length > 3")
    page.click(".long-row", "NPU301")
    page.wait("document.querySelector('#detail').innerText.includes('hccl')")
    page.shoot("findings")
    page.click("#detail .refuse")
    page.wait("document.querySelector('#detail .mark').innerText === 'refused'")
    page.click("#detail a", "train.py")
    page.wait("document.querySelectorAll('.sides .row').length > 10")
    sides = page.text(".sides")
    assert 'dist.init_process_group("nccl")' in sides and "hccl" not in page.browser.run(
        "return [...document.querySelectorAll('code.ins')].map((one) => one.innerText).join()"
    )
    page.looks_right()
    page.shoot("file")
    page.click("#edit")
    text = page.browser.run("return document.querySelector('#text').value")
    assert "torch.npu.synchronize()" in text
    page.type("#text", text.replace("Linear(2, 2)", "Linear(3, 3)"))
    page.click("#keep")
    page.wait("!!document.querySelector('#discard')")
    page.click("#undo")
    page.wait("!document.querySelector('#discard')")
    page.click("#redo")
    page.wait("!!document.querySelector('#discard')")
    page.click(".tabs a", "Left alone")
    page.wait("document.querySelector('main').innerText.includes('edited')")
    page.click(".tabs a", "Write")
    out = tmp_path / "out"
    page.type("form .field input", str(out))
    page.shoot("write")
    page.click("#write")
    page.wait("document.querySelector('#written').innerText.includes('Written')")
    written = (out / "train.py").read_text()
    assert '"nccl"' in written and "Linear(3, 3)" in written and "torch.npu.synchronize()" in written
    assert (project / "train.py").read_text() == TRAIN
    page.click("#write")
    page.wait("document.querySelector('#said').innerText.includes('not empty')")
    page.clean(expected="400 (Bad Request)")


@pytest.mark.thorough
def test_a_rule_is_refused(page: Page, project: Path) -> None:
    name = page.open(project)
    page.go(f"#/review/{name}/findings")
    page.click(".long-row", "NPU120")
    page.click("#rule-refuse")
    page.wait("document.querySelector('#rule-refuse').getAttribute('aria-pressed') === 'true'")
    assert 'device="cuda"' in page.served.ask("file", id=name, file="train.py")["text"]
    page.click("#undo")
    page.wait("!document.querySelector('#undo:not(:disabled)')")
    assert 'device="npu"' in page.served.ask("file", id=name, file="train.py")["text"]
    page.clean()


@pytest.mark.thorough
def test_what_is_offered_is_accepted(page: Page, project: Path) -> None:
    name = page.open(project)
    page.go(f"#/review/{name}/findings")
    page.browser.run(
        "const one = document.querySelector('#filter-state'); one.value = 'offered'; one.dispatchEvent(new Event('change'))"
    )
    page.click(".long-row", "NPU607")
    page.click("#detail .accept")
    page.wait("document.querySelector('#detail .mark').innerText === 'accepted'")
    assert "flash-attn" not in page.served.ask("file", id=name, file="requirements.txt")["text"]


@pytest.mark.thorough
def test_explanation_on_hover_and_focus(page: Page, project: Path) -> None:
    name = page.open(project)
    page.go(f"#/review/{name}/findings")
    page.click(".long-row", "NPU301")
    page.wait("!!document.querySelector('#explain')")
    page.browser.tell("Emulation.setFocusEmulationEnabled", enabled=True)
    page.browser.run("document.querySelector('#explain').focus()")
    page.wait("!document.querySelector('#tip').hidden && document.querySelector('#tip').innerText.includes('HCCL')")
    assert page.browser.run("return document.querySelector('#explain').getAttribute('aria-describedby')") == "tip"
    page.browser.tell("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
    page.wait("document.querySelector('#tip').hidden")


def test_cancel(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(30):
        (folder / f"m{number}.py").write_text(TRAIN)
    go_on = threading.Event()
    real = review_module.Draft

    def slow(source: Path, options: Options, migrating: Any, reading: Any) -> Any:
        def told(done: int, total: int) -> None:
            migrating(done, total)
            if done == 10:
                go_on.wait(30)

        return real(source, options, told, reading)

    monkeypatch.setattr(review_module, "Draft", slow)
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    page.type("form input", str(folder))
    page.click("button.main", "Scan and review")
    page.wait("document.querySelector('.progress').innerText.includes('10 of 30')")
    page.shoot("progress")
    page.click("#cancel")
    page.wait("document.querySelector('.progress').innerText.includes('Cancelled')")
    go_on.set()
    assert page.browser.run("return location.hash") == "#/"
    page.wait("!document.querySelector('form button.main').disabled")


@pytest.mark.thorough
def test_broken_input(page: Page, tmp_path: Path) -> None:
    page.type("form input", str(tmp_path / "nowhere"))
    page.click("button.main", "Scan and review")
    page.wait("document.querySelector('#said').innerText.includes('no such file or folder')")
    (tmp_path / "pyproject.toml").write_text("[tool.npuify]\nstyle = 3\n")
    page.type("form input", str(tmp_path))
    page.click("button.main", "Scan and review")
    page.wait("document.querySelector('#said').innerText.includes('pyproject.toml')")
    page.go("#/review/none/overview")
    assert "no longer open" in page.text()
    page.go("#/tool/none")
    assert "no such page" in page.text()
    page.clean(expected="400 (Bad Request)")


@pytest.mark.skipif(os.name == "nt", reason="names of files")
def test_hostile_names(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / f"<svg onload={PWN}>"
    folder.mkdir()
    for one in NAMES:
        (folder / one).parent.mkdir(parents=True, exist_ok=True)
        (folder / one).write_text(
            f"import torch\n# <img src=x onerror={PWN}>\u202e\ntorch.cuda.synchronize()  # </script><script>{PWN}</script>\n"
        )
    name = page.open(folder)
    for tab in ("overview", "findings", "files", "ledger", "write"):
        page.go(f"#/review/{name}/{tab}")
        assert not page.browser.run("return window.pwned"), tab
    page.go(f"#/review/{name}/files")
    files = [one["file"] for one in page.served.ask("tree", id=name)["files"]]
    assert sorted(files) == sorted(NAMES)
    links = [f"#/review/{name}/file/0/" + "-".join(f"{ord(letter):x}" for letter in one) for one in files]
    for link in links:
        page.go(link)
        assert "torch.npu.synchronize" in page.text(".sides"), link
    assert not page.browser.run("return window.pwned")
    assert not page.browser.run("return document.querySelectorAll('main img, main svg, main script').length")
    page.clean()


@pytest.mark.thorough
def test_five_thousand_findings(page: Page, tmp_path: Path) -> None:
    for number in range(50):
        body = "".join(f"x{one} = torch.zeros({one}, device='cuda')\n" for one in range(100))
        (tmp_path / f"m{number}.py").write_text(f"import torch\n{body}")
    name = page.open(tmp_path)
    page.go(f"#/review/{name}/findings")
    page.wait("document.querySelector('#count').innerText.split(' of ')[0] >= 5000")
    script = """
        const list = document.querySelector('.long-list');
        let most = 0;
        let changed = 0;
        const watcher = new MutationObserver(() => {});
        watcher.observe(list, { childList: true, subtree: true });
        for (let at = 0; at < 60; at += 1) {
            list.scrollTop = at * (list.scrollHeight / 60);
            list.dispatchEvent(new Event('scroll'));
            most = Math.max(most, document.querySelectorAll('.long-row').length);
            const records = watcher.takeRecords();
            changed = Math.max(changed, records.reduce((sum, one) => sum + one.addedNodes.length, 0));
        }
        watcher.disconnect();
        return [most, changed];
    """
    rows, changed = page.browser.run(script)
    # What a step of scrolling costs is what it puts on the page, and that does not grow with the list.
    assert rows < 60 and changed < 60, (rows, changed)
    page.browser.run("document.querySelector('.long-list').focus()")
    page.browser.tell("Input.dispatchKeyEvent", type="keyDown", key="End", code="End", windowsVirtualKeyCode=35)
    page.wait("document.querySelector('[aria-selected=true]')?.getAttribute('aria-posinset') >= 5000")
    page.browser.tell("Input.dispatchKeyEvent", type="keyDown", key="ArrowUp", code="ArrowUp", windowsVirtualKeyCode=38)
    page.wait(
        "document.querySelector('[aria-selected=true]')?.getAttribute('aria-setsize') - document.querySelector('[aria-selected=true]')?.getAttribute('aria-posinset') === 1"
    )
    page.type("#filter-q", "m49.py:50 ")
    page.wait("document.querySelector('#count').innerText.startsWith('1 of')")
    page.clean()


@pytest.mark.thorough
def test_keyboard_alone(page: Page, project: Path) -> None:
    name = page.open(project)
    page.served.ask("undo", id=name)
    page.go(f"#/review/{name}/files")
    page.click(".tree a", "train.py")
    page.wait("document.querySelectorAll('.sides .row').length > 10")
    page.browser.run("document.querySelector('#edit').focus()")
    for _ in range(2):
        page.browser.press("n", 78)
    assert page.browser.run("return document.activeElement.classList.contains('item')")
    which = page.browser.run("return document.activeElement.dataset.item")
    page.browser.press("r", 82)
    page.wait(f"document.querySelector('[data-item=\"{which}\"] .mark')?.innerText === 'refused'")
    item, mark = (
        f"getComputedStyle(document.querySelector('[data-item=\"{which}\"]{part}'))" for part in ("", " .mark")
    )
    assert page.browser.run(f"return {item}.borderLeftColor === {mark}.color"), (
        "its stripe stayed that of an edit that is made"
    )
    page.wait(f"document.querySelector('[data-item=\"{which}\"]').contains(document.activeElement)")
    page.browser.press("a", 65)
    page.wait(f"document.querySelector('[data-item=\"{which}\"] .mark')?.innerText === 'accepted'")


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "zh"])
def test_looks(page: Page, project: Path, language: str) -> None:
    """Light and dark, a small screen and a large one, both languages: read, named and within the screen."""
    name = page.open(project)
    if language == "zh":
        page.browser.run(
            "const one = document.querySelector('#language'); one.value = 'zh'; one.dispatchEvent(new Event('change'))"
        )
        page.wait("document.documentElement.lang === 'zh-CN'")
        page.ready()
        page.wait("document.querySelector('main').innerText.includes('需要复核')")
    file = page.served.ask("tree", id=name)
    assert file
    places = [
        "#/",
        *(f"#/review/{name}/{tab}" for tab in ("overview", "findings", "files", "ledger", "write")),
        "#/tool/launch",
        "#/tool/simulate",
        "#/rules",
    ]
    encoded = "-".join(f"{ord(one):x}" for one in "train.py")
    places.append(f"#/review/{name}/file/0/{encoded}")
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "dark")):
        page.browser.screen(width, scheme)
        for place in places:
            page.go(place)
            page.looks_right()
            faint = page.browser.run(CONTRAST)
            assert not faint, (width, scheme, place, faint)
            page.shoot(f"{language}-{width}-{scheme}-{place.split('/')[-1 if 'file/' not in place else 3] or 'start'}")
    text = page.text("#top") + page.text()
    assert ("迁移" in text) == (language == "zh")
    assert page.browser.run("return document.documentElement.lang") == ("zh-CN" if language == "zh" else "en")
    page.browser.run(
        "document.querySelector('#theme').value = 'light'; document.querySelector('#theme').dispatchEvent(new Event('change'))"
    )
    assert page.browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
    page.clean()


@pytest.mark.thorough
def test_launch_shows_the_scripts_as_they_are_made(page: Page, project: Path) -> None:
    name = page.open(project)
    assert name
    page.go("#/")
    page.type("form input", str(project))
    page.go("#/tool/launch")
    page.wait(
        "document.querySelector('#output').innerText.includes('torchrun') || document.querySelector('#ended').innerText.includes('code')"
    )
    page.browser.run(
        "const one = [...document.querySelectorAll('.field')].find((one) => one.innerText.includes('Cards')).querySelector('input'); one.value = '3'; one.dispatchEvent(new Event('input'))"
    )
    page.wait("document.querySelector('#command').innerText.includes('--cards=3')")
    page.wait(
        "/3/.test(document.querySelector('#output').innerText) && document.querySelector('#ended').innerText.includes('exit code')"
    )
    page.shoot("launch")
    page.clean()


@pytest.mark.thorough
def test_simulate_asks_streams_and_stops(page: Page, tmp_path: Path) -> None:
    (tmp_path / "wait.sh").write_text("#!/bin/sh\necho begun '<b>bold</b>'\nsleep 300\n")
    page.go("#/")
    page.type("form input", str(tmp_path))
    page.go("#/tool/simulate")
    page.browser.run(
        "window.confirm = () => { window.asked = true; return true; };"
        "const one = [...document.querySelectorAll('.field')].find((one) => one.innerText.includes('Program')).querySelector('input');"
        "one.value = 'sh wait.sh'; one.dispatchEvent(new Event('input'))"
    )
    page.wait("document.querySelector('#command').innerText.includes('wait.sh')")
    page.click("#run")
    page.wait("document.querySelector('#output').innerText.includes('begun')")
    assert page.browser.run("return window.asked") and not page.browser.run(
        "return document.querySelectorAll('#output b').length"
    )
    page.click("#stop")
    page.wait("document.querySelector('#ended').innerText.includes('exit code')")
    page.clean()


@pytest.mark.thorough
def test_a_log_is_dropped_in(page: Page) -> None:
    page.go("#/tool/diagnose")
    page.browser.run(
        "const data = new DataTransfer();"
        "data.items.add(new File(['EI0006: Getting socket times out. Reason: the remote rank did not start\\n'], 'rank0.log'));"
        "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}))"
    )
    page.wait("document.querySelector('#command').innerText.includes('rank0.log')")
    page.click("#run")
    page.wait("document.querySelector('#output').innerText.includes('EI0006')")
    page.shoot("diagnose")
    # The form is asked for its command before a log is there, where that takes longer than a moment.
    page.clean(expected="400 (Bad Request)")


@pytest.mark.thorough
def test_custom_rules_are_tried(page: Page, project: Path) -> None:
    page.go("#/")
    page.type("form input", str(project))
    page.go("#/rules")
    page.type("textarea", '[[fact]]\nname = "torch.nn.Linear"\nmessage = "ours is faster"\nseverity = "warning"\n')
    page.click("button.main", "Check")
    page.wait("document.querySelector('main').innerText.includes('train.py:7')")
    page.type("textarea", "[[fact]")
    page.click("button.main", "Check")
    page.wait("!!document.querySelector('main p.bad')")
    page.clean(expected="400 (Bad Request)")


@pytest.mark.thorough
def test_two_tabs(page: Page, project: Path) -> None:
    """The second tab has no token of its own, until it is opened by the address; each has its own review."""
    first = page.open(project)
    page.served.ask("decide", id=first, file="requirements.txt", ids=[], made=False)
    second = page.open(project)
    assert first != second
    page.go("#/")
    assert (
        page.browser.run(
            f"return [...document.querySelectorAll('a')].filter((one) => /{first}|{second}/.test(one.href)).length"
        )
        == 2
    )
    page.browser.run("sessionStorage.clear()")
    page.go("#/rules")
    page.go("#/")
    assert "open the address" in page.text()
    page.clean(expected="401 (Unauthorized)")
