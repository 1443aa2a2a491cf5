"""What commands print in Chinese, walked: their results in each format, the files that they write, and their errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npuify.cli.common.language import run_in_language
from npuify.cli.common.program import _COMMANDS, program
from npuify.cli.schema import SCHEMAS
from npuify.language import speak

from .test_all_in_chinese import _english_texts, english_in, english_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = (
    "import apex\nimport torch\nimport torch.distributed as dist\nfrom mine import _C\n\n\n"
    "def main():\n    dist.init_process_group('nccl')\n    model = torch.nn.Linear(2, 2).cuda()\n"
    "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for step in range(10):\n"
    "        loss = model(torch.ones(1, 2, device='cuda')).sum()\n        loss.backward()\n        optimizer.step()\n"
    "        optimizer.zero_grad()\n        print(step, loss.item(), torch.cuda.memory_allocated(), apex, _C)\n\n\n"
    "if __name__ == '__main__':\n    main()\n"
)
LOG = (
    'Traceback (most recent call last):\n  File "train.py", line 8, in main\n    dist.init_process_group("nccl")\n'
    "RuntimeError: Distributed package doesn't have NCCL built in\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("LC_ALL", "LC_MESSAGES", "NPUIFY_LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(CODE, "utf-8")
    (folder / "broken.py").write_text("import torch\ntorch.cuda.(\n", "utf-8")
    (folder / "run.sh").write_text("nvidia-smi\ntorchrun --nproc_per_node 8 train.py\n", "utf-8")
    (folder / "requirements.txt").write_text("torch==2.1.0\nflash-attn\n", "utf-8")
    (tmp_path / "list.txt").write_text(f"{folder}\n{tmp_path / 'none'}\nhttps://127.0.0.1:1/x.git\n", "utf-8")
    (tmp_path / "failed.log").write_text(LOG, "utf-8")
    (tmp_path / "a.log").write_text("".join(f"step {n} loss {3 / (n + 1):.4f}\n" for n in range(30)), "utf-8")
    (tmp_path / "b.log").write_text("".join(f"step {n} loss {3 / (n + 2):.4f}\n" for n in range(40)), "utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    speak("en")


def said(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What a command line prints, and what it complains of."""
    speak("zh")
    # What is told when it is imported, such as help that lists names, is told in the language spoken then.
    sys.modules.pop("npuify.cli.schema", None)
    monkeypatch.setattr(sys, "argv", ["npuify", *line.split()])
    with pytest.raises(SystemExit):
        run_in_language(program(line.split()[0]))
    done = capsys.readouterr()
    return done.out, done.err


OUTPUTS = [
    *(f"scan project --format {one}" for one in ("text", "json", "markdown", "html", "github", "gitlab", "junit")),
    "scan project --ledger",
    "migrate project --diff --format json",
    "migrate project --check",
    "migrate project -o out --unsafe --format markdown",
    "distribute project --entry train.py --check",
    "distribute project --entry train.py -o many --format json",
    "launch project/train.py --cards 8",
    "launch project/train.py --nodes 2 --master a --cards 8 -o scripts",
    "checklist project",
    "checklist project --format json",
    "checklist project --format html",
    "skill project -o guide",
    "scaffold training -o new",
    "rules",
    "rules NPU301 NPU630",
    "explain torch.cuda.Event --format json",
    "explain project/train.py:8",
    "knowledge list",
    "knowledge show 2.7.1",
    "diagnose failed.log",
    "diagnose failed.log --format html",
    "verify loss a.log b.log",
    "verify loss a.log b.log --format json",
    "verify loss a.log b.log --format html",
    "fleet scan list.txt -o many_projects --jobs 1",
    "fleet scan list.txt -o many_projects --jobs 1 --format json",
    *(f"schema {one}" for one in SCHEMAS),
    "doctor",
]


@pytest.mark.parametrize("line", OUTPUTS, ids=[re.sub(r"/\S*/", "", one) for one in OUTPUTS])
def test_outputs(line: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    known = {path for path in project.rglob("*") if path.is_file()}
    out, complaints = said(line, monkeypatch, capsys)
    assert out or complaints
    if line.startswith("launch"):
        out = _comments(out)
    written = {path: path.read_text("utf-8") for path in project.rglob("*") if _is_told(path) and path not in known}
    wrong = [*_wrong(out, "--format json" in line or line.startswith("schema")), *_wrong(complaints, False)]
    for path, whole in written.items():
        text = _comments(whole) if path.suffix == ".sh" else whole
        wrong += [f"{path.name}: {one}" for one in _wrong(text, path.suffix == ".json")]
    assert not wrong, "\n".join(wrong)


def _comments(script: str) -> str:
    return "\n".join(one.strip() for one in script.splitlines() if one.strip().startswith("# "))


def _is_told(path: Path) -> bool:
    """Whether it is a page or a script, and none of what a scan remembers."""
    return path.suffix in (".md", ".html", ".json", ".sh", ".yaml", ".txt") and "cache" not in path.parts


def _wrong(text: str, is_json: bool) -> list[str]:
    if is_json and text.strip().startswith("{"):
        # States are names, and what another program says is quoted.
        return [one for one in _english_texts(json.loads(text)) if not re.match("state:|enum:|.*fatal:", one)]
    if text.lstrip().startswith("<!DOCTYPE"):
        text = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>", "", text)
        text = re.sub(r"<[^>]*>", "\n", text)
    text = re.sub(r"(?s)```\w*\n.*?```", "", text)
    return [
        line
        for line in english_lines(text, code=CODE + LOG)
        # A source is quoted as it is called; what another program says, too.
        if not re.search(r"来源|source  |依据：|fatal:", line)
    ]


@pytest.mark.parametrize("name", [f"{one.group} {one.name}".strip() for one in _COMMANDS])
@pytest.mark.parametrize("more", ["", "--no-such-option", "no/such/thing --format nonsense", "no/such/thing -o"])
def test_wrong_usage(
    name: str, more: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in ("lsp", "mcp", "studio", "doctor", "selftest") and not more:
        pytest.skip("needs no argument, and starts")
    out, complaints = said(f"{name} {more}", monkeypatch, capsys)
    for text in (out, complaints):
        wrong = _wrong(text, False)
        assert not wrong, "\n".join(wrong)


FACES = {
    "studio no/such/project": "no/such/project",
    "mcp --root no/such/folder": "no/such/folder",
    "fleet scan no_such_list -o x": "no_such_list",
    "fleet report nowhere": "nowhere",
    "fleet status nowhere": "nowhere",
    "fleet migrate nowhere -o x": "nowhere",
    "fleet scan list.txt -o x --max-memory much": "much",
    "fleet scan list.txt -o x --engine dask --address nowhere": "",
    "fleet scan list.txt -o x --limits y": "",
    "migrate project": "",
    "migrate project -o out --diff": "",
    "distribute project": "",
    "port project": "",
    "port project -o project": "project",
}


@pytest.mark.parametrize("line", FACES)
def test_refusals(
    line: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, complaints = said(line, monkeypatch, capsys)
    assert FACES[line] in out + complaints
    wrong = [one for one in (out + complaints).splitlines() if english_in(one)]
    assert not wrong, "\n".join(wrong)
    assert re.search("[\u4e00-\u9fff]", out + complaints)
