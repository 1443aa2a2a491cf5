"""Which language is spoken, and what does not depend on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npuify import scan
from npuify.analysis.values import Kind, Value, describe
from npuify.cli.common.language import language_on, wrapped_lines
from npuify.language import padded, phrase, plural, speaking, spoken, usual, width_of
from npuify.language.catalog import filled_in
from npuify.options import Options
from npuify.report.narrow import fingerprints, without_baseline
from npuify.verify.steps.text import in_brackets


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh_SG.UTF-8@x"}, "zh"),
        ({"LANG": "zh_TW.UTF-8"}, "en"),
        ({"LANG": "zh_Hant_CN"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "NPUIFY_LANGUAGE": "en"}, "en"),
        ({"NPUIFY_LANGUAGE": "klingon", "LANG": "zh_CN"}, "zh"),
    ],
)
def test_the_locale_tells(environment: dict[str, str], language: str) -> None:
    assert usual(environment) == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("scan . --language zh", "zh"),
        ("--language=zh scan .", "zh"),
        ("scan -- --language zh", ""),
        ("run train.py --language zh", ""),
        ("run --language zh train.py", "zh"),
        ("scan . --language", ""),
        ("scan . --language de", ""),
    ],
)
def test_the_command_line_tells(line: str, language: str) -> None:
    assert language_on(line.split()) == language


def test_english_needs_no_catalog() -> None:
    code = "import sys; from npuify.cli.common.program import program; import npuify.language; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "npuify.language.catalog" not in modules


def test_texts_without_values_keep_their_braces_and_those_with_values_are_filled() -> None:
    assert phrase("a {literal} brace") == "a {literal} brace"
    assert phrase("{name!r} is {size:.1f} GiB", name="x", size=2) == "'x' is 2.0 GiB"
    assert plural("{count} file", "{count} files", 1) == "1 file"
    assert plural("{count} file", "{count} files", 2) == "2 files"


def test_a_place_speaks_its_own_language() -> None:
    assert spoken() == "en"
    with speaking("zh"):
        assert spoken() == "zh"
        assert phrase("Options") == "选项"
        assert phrase("what no catalog knows") == "what no catalog knows"
        with speaking(""):
            assert spoken() == "zh"
    assert spoken() == "en"


def test_columns_are_counted_as_a_terminal_counts_them() -> None:
    assert width_of("昇腾 NPU") == 8
    assert padded("昇腾", 6) == "昇腾  "
    assert padded("昇腾", 6, right=True) == "  昇腾"
    lines = wrapped_lines("本命令扫描项目，找出需要修改之处（不改动任何文件）。", 20)
    assert "".join(lines) == "本命令扫描项目，找出需要修改之处（不改动任何文件）。"
    # A mark that must not begin a line may hang over.
    assert all(width_of(line) <= 22 and line[0] not in "，。）" and line[-1] != "（" for line in lines)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("import torch\nx = torch.zeros(3).cuda()\ntorch.cuda.set_device(0)\n", "utf-8")
    (tmp_path / "broken.py").write_text("import torch\ntorch.cuda.(\n", "utf-8")
    return tmp_path


def test_a_finding_is_the_same_in_each_language(project: Path, tmp_path: Path) -> None:
    english = scan([project], Options(cache=False, jobs=1))
    chinese = scan([project], Options(cache=False, jobs=1, language="zh"))
    assert (english.language, chinese.language) == ("en", "zh")
    assert fingerprints(english.findings) == fingerprints(chinese.findings)
    assert [one.edits for one in english.findings] == [one.edits for one in chinese.findings]
    from npuify.report import render_scan

    baseline = tmp_path / "baseline.json"
    baseline.write_text(render_scan(english, "json"), "utf-8")
    assert not without_baseline(chinese, baseline).findings


def test_a_second_scan_in_another_language_does_not_take_the_first_ones_texts(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    os.utime(project / "train.py", (1e9, 1e9))
    results = [scan([project], Options(jobs=1, language=language)) for language in ("en", "zh", "en")]
    assert results[0].findings == results[2].findings
    moved = [next(one.message for one in result.findings if one.code == "NPU110") for result in results]
    assert moved[:2] == [".cuda() is .npu() on the NPU", ".cuda() 在 NPU 上是 .npu()"]


def test_the_project_and_the_command_line_say_the_language(project: Path) -> None:
    def language(*arguments: str, said: str = "") -> str:
        (project / "pyproject.toml").write_text(f'[tool.npuify]\nlanguage = "{said}"\n' if said else "", "utf-8")
        command = [sys.executable, "-m", "npuify", "scan", str(project), "--format", "json", *arguments]
        environment = {**os.environ, "NPUIFY_LANGUAGE": "en"}
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
        return str(json.loads(done.stdout)["language"])

    assert language() == "en"
    assert language(said="zh") == "zh"
    assert language("--language", "en", said="zh") == "en"


def test_blanks_stand_where_latin_and_chinese_meet() -> None:
    assert filled_in("检查了{what}", {"what": "2 个文件"}) == "检查了 2 个文件"
    assert filled_in("因 {error} 而结束", {"error": "内存不足"}) == "因内存不足而结束"
    assert filled_in("因{error}而结束", {"error": "KeyError"}) == "因 KeyError 而结束"
    assert filled_in("{a}、{b}（{c!r}）{d:>4}", {"a": "x", "b": "甲", "c": "y", "d": 3}) == "x、甲（'y'）   3"
    assert filled_in("在 {place} 中", {"place": "目录/甲1.py"}) == "在目录/甲1.py 中"


def test_verify_and_explain_name_their_things_in_chinese() -> None:
    with speaking("zh"):
        assert "（" in in_brackets("x") and "(" not in in_brackets("x")
        assert phrase("simulated NPU") == "仿真的 NPU"
        value = Value(Kind.OPTIMIZER, "torch.optim.AdamW")
        assert describe(value) == "优化器 torch.optim.AdamW"
        # A loss in a program is no curve of losses, which verify's step of that name is.
        assert describe(Value(Kind.LOSS, "torch.nn.MSELoss")) == "loss torch.nn.MSELoss"
    assert in_brackets("x") == " (x)"
