"""Code that is written into projects: in Chinese its comments and docstrings are Chinese, and it is the same code."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from tools.catalogs.domains import code_with_texts

import npuify
from npuify.distribute.convert import ConversionOptions, distribute
from npuify.helpers import CPU_FALLBACK, helper_text
from npuify.helpers.compute_device import TEXT
from npuify.language import speaking
from npuify.language.code import code_in_language, texts_of_code
from npuify.options import Options
from npuify.scaffold.training import STYLES, scaffold_training

from .test_all_in_chinese import english_in

WRITTEN = {path.stem: path.read_text("utf-8") for path, _ in code_with_texts()} | {"compute_device": TEXT}
SAMPLE = '''\
"""What it does: first this,
then that.

Args:
    rows: what is
        gone through
    name: x

    code = in_an_example()
"""
import os  # noqa: F401
# one line of it
# and another one
x = 1  # what x is  # noqa: E501
# --- a part of it ------
def f():
    """Does it all."""
    return "a text of the code"  # 汉字 and so on
'''


def in_chinese(source: str) -> str:
    with speaking("zh"):
        return code_in_language(source)


def _prose(source: str) -> list[str]:
    """Comments and docstrings."""
    found = [
        one.value.value
        for one in ast.walk(ast.parse(source))
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return found + [one.string for one in tokens if one.type == tokenize.COMMENT]


def _code(source: str) -> str:
    """The program without what only people read."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.dump(tree)


def test_what_is_a_text() -> None:
    assert list(texts_of_code(SAMPLE)) == [
        "What it does: first this, then that.",
        "rows: what is gone through",
        "Does it all.",
        "one line of it and another one",
        "what x is",
        "a part of it",
        "汉字 and so on",
    ]


def test_texts_stand_where_they_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    from npuify.language.catalog import Catalog

    monkeypatch.setattr(Catalog, "in_code", lambda self, text: f"一。{len(text)}")
    told = in_chinese(SAMPLE)
    assert (
        told
        == '''\
"""一。
36

Args:
    一。
        26
    name: x

    code = in_an_example()
"""
import os  # noqa: F401
# 一。
# 30
x = 1  # 一。9  # noqa: E501
# --- 一。12 ------
def f():
    """一。
    12"""
    return "a text of the code"  # 一。12
'''
    )
    assert _code(told) == _code(SAMPLE)


@pytest.mark.parametrize("name", WRITTEN)
def test_written_modules(name: str) -> None:
    told = in_chinese(WRITTEN[name])
    assert _code(told) == _code(WRITTEN[name])
    wrong = [text for text in _prose(told) if english_in(text)]
    assert not wrong, wrong


def test_english_stays_as_it_is() -> None:
    assert all(code_in_language(source) == source for source in WRITTEN.values())


def _is_chinese(path: Path) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in path.read_text("utf-8"))


def test_a_migration_in_chinese(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(
        "import torch\n\n\ndef main():\n    model = torch.nn.Linear(2, 1).to('cuda')\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 2)), batch_size=2)\n"
        "    for (x,) in data:\n        loss = model(x.to('cuda')).sum()\n        optimizer.zero_grad()\n"
        "        loss.backward()\n        optimizer.step()\n    print(loss.item())\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    options = Options(cache=False, jobs=1, language="zh")
    for style, helper in (("portable", "compute_device.py"), ("npu", "")):
        done = npuify.migrate(project, tmp_path / style, Options(cache=False, jobs=1, language="zh", style=style))
        assert not helper or _is_chinese(tmp_path / style / helper)
        again = npuify.migrate(tmp_path / style, None, Options(cache=False, jobs=1, style=style), mode="diff")
        assert done.changed_files and not again.diff, "another language changes nothing"
    distribute(project, tmp_path / "many", ConversionOptions(entry="train.py"), options)
    assert _is_chinese(tmp_path / "many" / "npu_distributed.py")
    with speaking("zh"):
        assert helper_text(CPU_FALLBACK) != helper_text("npuify_scatter")
        assert "在 NPU 上" in helper_text(CPU_FALLBACK).decode()
    assert "在 NPU 上" not in helper_text(CPU_FALLBACK).decode()


@pytest.mark.parametrize("style", STYLES)
def test_a_new_project_in_chinese(style: str, tmp_path: Path) -> None:
    with speaking("zh"):
        scaffold_training(tmp_path / "new", style=style)
    modules = sorted((tmp_path / "new").rglob("*.py"))
    assert all(map(_is_chinese, (one for one in modules if one.stat().st_size)))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path / "new")], check=True)
