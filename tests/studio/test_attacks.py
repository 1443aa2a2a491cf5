"""Each way in that a page of another site, another user of the machine, or a hostile project may try."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import npuify.studio
from npuify.studio.guard import Keys

if TYPE_CHECKING:
    from .served import Served

START = ("POST", "/api/start", b"{}")


def test_our_own_page_is_answered(served: Served) -> None:
    status, headers, _ = served.raw(*START)
    assert status == 200
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == "no-store"
    for path in ("/", "/main.js", "/style.css", "/en.json"):
        status, headers, _ = served.raw("GET", path)
        assert status == 200
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "'unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "[::1]:{port}",
        "",
    ],
)
def test_dns_rebinding(served: Served, host: str) -> None:
    """A name of the attacker's that leads to this machine: the browser thinks that it is one origin."""
    named = host.replace("{port}", str(served.port))
    for method, path, body in (START, ("GET", "/", b"")):
        status, _, content = served.raw(method, path, body, served.headers(host=named, origin=f"http://{named}"))
        assert status == 403 and b"releases" not in content
    status, _, _ = served.raw(*START, served.headers(host=None))
    assert status in (400, 403)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
    ],
)
def test_another_origin(served: Served, origin: str) -> None:
    said = origin.replace("{port}", str(served.port))
    status, headers, _ = served.raw(*START, served.headers(origin=said))
    assert status == 403 and not any(name.startswith("access-control") for name in headers)


def test_another_site_without_origin(served: Served) -> None:
    """An image, a form or a link of another page."""
    for site in ("cross-site", "same-site"):
        for method, path, body in (START, ("GET", "/", b"")):
            assert served.raw(method, path, body, served.headers(origin=None, sec_fetch_site=site))[0] == 403


def test_preflight_is_refused(served: Served) -> None:
    headers = served.headers(origin="http://evil.example", access_control_request_method="POST")
    status, told, _ = served.raw("OPTIONS", "/api/start", b"", headers)
    assert status == 403 and not any(name.startswith("access-control") for name in told)
    status, told, _ = served.raw("OPTIONS", "/api/start", b"", served.headers())
    assert status == 403 and not any(name.startswith("access-control") for name in told)


@pytest.mark.parametrize("token", [None, "", "x", "x" * 43, "é"])
def test_without_the_token(served: Served, token: str | None) -> None:
    for name in ("start", "open", "folders", "run", "progress", "output", "write", "no-such"):
        assert served.raw("POST", f"/api/{name}", b"{}", served.headers(x_npuify_token=token))[0] == 401


def test_the_token_is_taken_from_no_other_place(served: Served) -> None:
    headers = served.headers(x_npuify_token=None, cookie=f"x-npuify-token={served.keys.token}")
    assert served.raw("POST", f"/api/start?token={served.keys.token}", b"{}", headers)[0] == 401


def test_a_form_of_another_kind(served: Served) -> None:
    """What a page may send without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert served.raw(*START, served.headers(content_type=kind))[0] == 403
    assert served.raw("GET", "/api/start")[0] == 403
    assert served.raw("POST", "/index.html", b"{}")[0] == 403


def test_the_ticket_is_good_once_and_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys()
    ticket = keys.ticket
    assert keys.exchange("x") is None and keys.exchange("") is None
    assert keys.exchange(ticket) == keys.token
    assert keys.exchange(ticket) is None and keys.exchange("") is None
    late = Keys()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1000)
    assert late.exchange(late.ticket) is None


def test_a_ticket_over_http(served: Served) -> None:
    headers = served.headers(x_npuify_token=None)
    body = json.dumps({"ticket": served.keys.ticket}).encode()
    assert served.raw("POST", "/api/enter", body, {**headers, "origin": "http://evil.example"})[0] == 403
    status, _, content = served.raw("POST", "/api/enter", body, headers)
    assert status == 200 and json.loads(content)["token"] == served.keys.token
    assert served.raw("POST", "/api/enter", body, headers)[0] == 400


def test_only_the_loopback_address_is_listened_on(served: Served) -> None:
    others = {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        if other.startswith("127."):
            continue
        with socket.socket() as made:
            made.settimeout(2)
            assert made.connect_ex((other, served.port)) != 0


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/..%2fapp.py",
        "/%2e%2e/guard.py",
        "/static/../../guard.py",
        "/....//app.py",
        "/%00",
        "//etc/passwd",
        "/C:/Windows/win.ini",
        "/..\\app.py",
    ],
)
def test_files_beside_the_page(served: Served, path: str) -> None:
    status, _, content = served.raw("GET", path)
    assert status >= 400 and b"import" not in content and b"root:" not in content


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    (tmp_path / "secret.py").write_text("import torch\nSECRET = 1\ntorch.cuda.synchronize()\n")
    return folder


def test_files_outside_of_the_project(served: Served, project: Path) -> None:
    name = served.opened(project)
    for file in (
        "../secret.py",
        str(project.parent / "secret.py"),
        "/etc/passwd",
        "train.py/../../secret.py",
        "./../secret.py",
        "",
        ".",
        "~/.bashrc",
        "train.py\0",
    ):
        told = served.ask("file", id=name, file=file)
        assert "error" in told and "SECRET" not in json.dumps(told), file
        assert "error" in served.ask("by-hand", id=name, file=file, text="x = 1\n")
    assert (project.parent / "secret.py").read_text().startswith("import torch\nSECRET")


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_links_out_of_the_project(served: Served, project: Path) -> None:
    (project / "link.py").symlink_to(project.parent / "secret.py")
    (project / "folder").symlink_to(project.parent)
    name = served.opened(project)
    for file in ("link.py", "folder/secret.py"):
        assert "SECRET" not in json.dumps(served.ask("file", id=name, file=file))
    (project / "train.py").unlink()
    (project / "train.py").symlink_to(project.parent / "secret.py")
    told = served.ask("file", id=name, file="train.py")
    assert "leads out" in told["error"]


def test_nothing_of_the_project_runs(served: Served, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    folder = tmp_path / "project"
    folder.mkdir()
    evil = f"open({str(witness)!r}, 'w').write('ran')\n"
    for name in ("train.py", "setup.py", "conftest.py", "sitecustomize.py", "npuify.py", "torch.py", "__init__.py"):
        (folder / name).write_text(evil + "import torch\ntorch.cuda.synchronize()\n")
    (folder / "pyproject.toml").write_text("[tool.npuify]\nvendor-reports = 'reports'\n")
    name = served.opened(folder)
    for question in ("summary", "items", "tree", "ledger"):
        assert "error" not in served.ask(question, id=name)
    served.ask("file", id=name, file="train.py")
    served.ask("explain", id=name, what="torch.cuda.synchronize")
    served.ask("rules", text='[[fact]]\nname = "a.b"\nmessage = "m"\nseverity = "error"\n', path=str(folder))
    assert "error" not in served.ask("write", id=name, mode="copy", path=str(tmp_path / "out"))
    for tool, values in {
        "launch": {"cwd": str(folder), "program": "train.py", "cards": "2"},
        "distribute": {"source": str(folder), "entry": "train.py", "diff": True},
        "doctor": {"project": str(folder), "no_smoke": True, "cwd": str(folder)},
    }.items():
        started = served.ask("run", tool=tool, values=values)
        assert served.events("output", id=started["id"])[-1]["code"] is not None
    assert not witness.exists()
    assert not (folder / "reports").exists()


def test_commands_are_read_by_no_shell_and_values_are_no_options(served: Served, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    for values in (
        {"source": f"$(touch {witness})", "entry": f"; touch {witness}", "diff": True},
        {"source": f"--output={witness}", "entry": "train.py", "diff": True},
        {"source": "-o", "entry": f"--output={witness}", "diff": True},
    ):
        started = served.ask("run", tool="distribute", values=values)
        assert served.events("output", id=started["id"])[-1]["code"] == 2
    assert not witness.exists()
    assert "error" in served.ask("run", tool="distribute", values={"source": ".", "entry": "a.py", "scale_lr": "x; y"})
    assert "error" in served.ask("run", tool="rm", values={})
    assert "error" in served.ask("run", tool="launch", values={"cwd": "/no/such", "program": "train.py"})


def test_a_dropped_file_names_no_place(served: Served, tmp_path: Path) -> None:
    for name in ("../../evil.log", "/etc/cron.d/evil", "a\0b", "x" * 5000, "evil.l/og"):
        kept = Path(served.ask("drop", file=name, text="aGVsbG8=")["path"])
        assert kept.read_bytes() == b"hello"
        held = kept.parents[1]
        assert held.name.startswith("npuify-studio-") and kept.resolve().is_relative_to(held.resolve())
        if os.name == "posix":
            assert stat.S_IMODE(held.stat().st_mode) == 0o700
    kept = [served.ask("drop", file="rank_3 最后.log", text="aGVsbG8=")["path"] for _ in range(2)]
    assert kept[0] != kept[1] and {Path(one).name for one in kept} == {"rank_3_最后.log"}
    assert "error" in served.ask("drop", file="a.log", text="not base 64!")


@pytest.mark.parametrize(
    "body", [b"[", b"[]", b"null", b'{"id": 1}', b'{"no": 1}', b"\xff", b'{"options": []}', b"[" * 100_000]
)
def test_broken_questions(served: Served, body: bytes) -> None:
    status, _, content = served.raw("POST", "/api/open", body)
    assert status == 400 and "error" in json.loads(content)


def test_there_is_no_markup_made_of_text() -> None:
    """The browser refuses it, too; here it is seen where no browser is."""
    static = Path(npuify.studio.__file__).parent / "static"
    scripts = [one.read_text(encoding="utf-8") for one in static.glob("*.js")]
    assert len(scripts) > 5
    for text in scripts:
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "javascript:",
            "https://",
        ):
            assert word not in text
    page = (static / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page and page.count("<script") == 1 and "//" not in page.replace("<!DOCTYPE", "")
