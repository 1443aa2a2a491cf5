"""Nothing that a person is told in Chinese is an English sentence: findings, reports, explanations, help, errors."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.testing

import npuify
from npuify import api
from npuify.cli.language import run_in_language
from npuify.cli.program import _COMMANDS, program
from npuify.language import speaking
from npuify.options import Options
from npuify.report import render_scan
from npuify.report.answers import render_explanation, render_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).resolve().parents[1] / "cases"

_CODE = re.compile(
    r"(?:npuify|python|pip|git|bash|docker|torchrun) [^\u4e00-\u9fff，。；：（）]*|`+[^`\n]*`+|\"[^\"\n]*\"|'[^'\n]*'|“[^”\n]*”|</?\w[^>]*>|\([^()\u4e00-\u9fff]*\)|\[[^\[\]\u4e00-\u9fff]*\]|\S*[_./=\\<>(){}\[\]*#$@|]\S*"
    r"|(?<!\w)--?[\w-]+|[A-Za-z]*\d\w*"
)
"""What is no prose: code between backticks and quotes, markup, paths, calls, options, numbers."""
_SENTENCE = re.compile(r"(?<![\w-])[A-Za-z]?[a-z]+(?:,? [a-z]+){2,}(?![\w-])")
"""Three English words in a row, of which only the first may have a capital letter."""

_NAMES = re.compile("dual batch overlap")
"""Names of things that stay in English."""


def english_in(text: str) -> list[str]:
    """The pieces of a text that read as English prose."""
    return _SENTENCE.findall(_NAMES.sub("¦", _CODE.sub(" ¦ ", text)))


def english_lines(text: str, *, code: str = "") -> Iterator[str]:
    """The lines of a text with English prose in them, without those of ``code``."""
    known = {line.strip() for line in code.splitlines()}
    for line in text.splitlines():
        if line.strip() not in known and english_in(line):
            yield line


def test_english_is_seen() -> None:
    assert english_in("这里 it has no effect 在 NPU 上")
    assert english_in("use autocast and GradScaler")
    assert not english_in("请使用 `torch.cuda.is_available()`，或 torch.npu.amp 的 GradScaler")
    assert not english_in("batch、loss、checkpoint、rank")


def _cases(every: int) -> list[Path]:
    return sorted(CASES.glob("*/*.in.*"))[::every]


@pytest.fixture
def chinese() -> Iterator[None]:
    with speaking("zh"):
        yield


def _check_cases(folder: Path, every: int) -> None:
    for number, case in enumerate(_cases(every)):
        place = folder / f"{case.parent.name}_{number}"
        place.mkdir()
        name = case.name.replace(".in.", ".")
        (place / name).write_bytes(case.read_bytes())
    result = npuify.scan([folder], Options(cache=False, jobs=1, language="zh"))
    assert result.findings
    said = {text for one in result.findings for text in (one.message, one.advice)}
    wrong = {f"{one.code}: {text}" for one in result.findings for text in (one.message, one.advice) if english_in(text)}
    assert not wrong, f"{len(wrong)} of {len(said)}:\n" + "\n".join(sorted(wrong))
    code = "\n".join(path.read_text("utf-8", "replace") for path in folder.rglob("*.*") if path.is_file())
    for format in ("text", "markdown"):
        assert not list(english_lines(render_scan(result, format), code=code)), format
    page = re.sub(r"<(script|style)\b.*?</\1>|<(pre|code)\b.*?</\2>", " ", render_scan(result, "html"), flags=re.DOTALL)
    assert not list(english_lines(html.unescape(re.sub(r"<[^>]+>", "\n", page)), code=code))


def test_findings_and_reports(tmp_path: Path) -> None:
    _check_cases(tmp_path, 6)


@pytest.mark.thorough
def test_findings_of_all_cases(tmp_path: Path) -> None:
    _check_cases(tmp_path, 1)


def test_rules(chinese: None) -> None:
    assert not list(english_lines(render_rules(api.rules(), "text")))


NAMES = (
    "torch.cuda.Event", "torch.cuda.synchronize", "torch.backends.cudnn.allow_tf32", "torch.nn.Linear", "NCCL_DEBUG",
    "CUDA_VISIBLE_DEVICES", "EI0002", "507015", "ERR00100", "deepspeed", "sglang", "vllm==0.18.0", "flash_attn", "apex",
    "--attention-backend", "--page-size", "tf.keras.layers.CuDNNLSTM", "hvd.rank", "NPU350", "xgboost",
)  # fmt: skip


def test_explanations(chinese: None) -> None:
    wrong = {}
    for name in (*NAMES, *[rule.code for rule in api.rules()]):
        text = render_explanation(npuify.explain(name), "text")
        # Not the code of a rule's example, nor a comment in a command; a source is quoted as it is called.
        lines = [
            line
            for line in english_lines(text)
            if not line.startswith("      ") and not line.strip().startswith("export ") and "来源" not in line
        ]
        if lines:
            wrong[name] = lines
    assert not wrong


@pytest.mark.parametrize("command", [f"{one.group} {one.name}".split() for one in _COMMANDS] + [[]], ids=" ".join)
def test_help(command: list[str], chinese: None) -> None:
    wanted = command[0] if command else ""
    # Its help lists the commands, in the language in which it is imported.
    sys.modules.pop("npuify.cli.schema", None)
    done = typer.testing.CliRunner().invoke(program(wanted), [*command, "--help"])
    assert done.exit_code == 0
    assert "用法" in done.output
    assert not list(english_lines(done.output))


@pytest.mark.parametrize(
    "line",
    [
        "scan no/such/folder",
        "scan . --torch-npu 99.1",
        "explain no.such.name",
        "launch no_such_program.py --cards 8",
        "verify loss no.log such.log",
        "verify compare no such",
        "doctor --facts no-such-file",
        "diagnose no-such-log",
        "checklist no/such/project",
        "scaffold training no/such/project --name 1",
    ],
)
def test_errors(
    line: str, chinese: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["npuify", *line.split()])
    with pytest.raises(SystemExit) as done:
        run_in_language(program(line.split()[0]))
    assert done.value.code
    assert not list(english_lines(capsys.readouterr().err))
