"""The user's own rules, in the vendor's JSON and in TOML."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import npuify
from npuify.analysis.project import ProjectIndex
from npuify.engine.worker import Worker
from npuify.model import NpuifyError, Safety, Severity
from npuify.options import Options
from npuify.rewrite.fixpoint import migrate_file
from npuify.rules.custom.reader import read_rules
from npuify.rules.opt_ins import CustomRule, OptIns
from npuify.rules.selection import Selection

from ...harness import RELEASE


def _rules(tmp_path: Path, **tables: list[dict[str, Any]]) -> tuple[CustomRule, ...]:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": tables}))
    return read_rules(path)


def _toml(tmp_path: Path, text: str) -> tuple[CustomRule, ...]:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    return read_rules(path)


def _out(rules: tuple[CustomRule, ...], text: str, *, again: bool = True) -> str:
    worker = Worker(RELEASE, Selection(opt_ins=OptIns(custom=rules)), ProjectIndex(Path("/nowhere"), [], []))
    result = migrate_file("program.py", text.encode(), worker, unsafe=False)
    assert not result.errors, result.errors
    out = text if result.raw is None else result.raw.decode()
    ast.parse(out)
    if again:
        assert migrate_file("program.py", out.encode(), worker, unsafe=False).raw is None
    return out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("other()", "other()"),
        ("old_name.attribute", "old_name.attribute"),
        ("x = old_name", "x = old_name"),
        ("'old_name()'", "'old_name()'"),
        ("old_name()", "new_name()"),
        ("a.old_name()", "a.new_name()"),
        ("a.b . old_name (1)  # old_name()", "a.b . new_name (1)  # old_name()"),
        ("a.old_name.b(old_name())", "a.old_name.b(new_name())"),
        ("a.old_name.old_name()", "a.old_name.new_name()"),
        ("(p == q).long().old_name()", "(p == q).long().new_name()"),
        ("(other if c else old_name)()", "(other if c else new_name)()"),
        ("(other if c else (old_name if d else x))()", "(other if c else (new_name if d else x))()"),
        ("from m import old_name\nold_name()", "from m import new_name\nnew_name()"),
        ("from m import old_name as f\nf()", "from m import new_name as f\nf()"),
    ],
)
def test_function_by_its_last_part(tmp_path: Path, before: str, after: str) -> None:
    rules = _rules(tmp_path, FuncNameModifyRule=[{"old_name": "old_name", "new_name": "new_name"}])
    assert _out(rules, before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("old_name()", "old_name()"),
        ("x.old_name()", "x.old_name()"),
        ("import c.d\nc.d.old_name()", "import c.d\nc.d.new_name()"),
        ("import c.d as cd\ncd.old_name()", "import c.d as cd\ncd.new_name()"),
        ("import c.d\ncd = c.d\ncd.old_name()", "import c.d\ncd = c.d\ncd.new_name()"),
        ("from c import d\nd.old_name()", "from c import d\nd.new_name()"),
        ("from c.d import old_name\nold_name(2)", "from c.d import new_name\nnew_name(2)"),
        ("from c.d import old_name as f\nf(2)", "from c.d import new_name as f\nf(2)"),
        ("from c.e import old_name\nold_name(2)", "from c.e import old_name\nold_name(2)"),
        (
            "from c.d import old_name\ndef f(old_name):\n    old_name()",
            "from c.d import new_name\ndef f(old_name):\n    old_name()",
        ),
    ],
)
def test_function_by_its_qualified_name(tmp_path: Path, before: str, after: str) -> None:
    rules = _rules(tmp_path, FuncNameModifyRule=[{"old_name": "c.d.old_name", "new_name": "new_name"}])
    assert _out(rules, before) == after


def test_function_with_its_module(tmp_path: Path) -> None:
    rows = [{"old_name": "old_name", "new_name": "a.b.new_name", "replace_module": True}]
    rules = _rules(tmp_path, FuncNameModifyRule=rows)
    assert _out(rules, "d.e.old_name(1)") == "a.b.new_name(1)"
    assert _out(rules, "(x if c else old_name)()") == "(x if c else a.b.new_name)()"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("old_name.f()", "old_name.f()"),
        ("c.old_name.f()", "c.old_name.f()"),
        ("import a.b.old_name", "import a.b.new_name"),
        ("import a.b.old_name as o\no.f()", "import a.b.new_name as o\no.f()"),
        ("import a.b.old_name.c as o\no.f()", "import a.b.new_name.c as o\no.f()"),
        ("import a.b as ab\nab.old_name", "import a.b as ab\nab.new_name"),
        ("import a.b.old_name\na.b.old_name.f()", "import a.b.new_name\na.b.new_name.f()"),
        ("a.b.old_name.f()", "a.b.new_name.f()"),
        ("from a.b import old_name\nold_name.f()", "from a.b import new_name as old_name\nold_name.f()"),
        ("from a.b.old_name import (  # keep\n    x,\n)", "from a.b.new_name import (  # keep\n    x,\n)"),
        ("from a.b.old_names import x", "from a.b.old_names import x"),
    ],
)
def test_module(tmp_path: Path, before: str, after: str) -> None:
    rows = [{"old_name": "old_name", "new_name": "new_name", "parent_module": "a.b"}]
    assert _out(_rules(tmp_path, ModuleNameModifyRule=rows), before) == after


@pytest.mark.parametrize(
    ("row", "before", "after"),
    [
        ({"arg_idx": 0, "arg_new": "'hccl'"}, "f('nccl', 1)", "f('hccl', 1)"),
        ({"arg_idx": 0, "arg_new": "'hccl'"}, "x.f('nccl', 1)", "x.f('hccl', 1)"),
        ({"arg_idx": 0, "arg_new": "'hccl'"}, "f()", "f()"),
        ({"arg_idx": 1, "arg_new": "2"}, "f(a, b=1)", "f(a, b=2)"),
        ({"arg_keyword": "b", "arg_new": "x + 1"}, "f(a, b=1, c=2)", "f(a, b=x + 1, c=2)"),
        ({"arg_keyword": "b", "arg_new": ""}, "f(a, b=1, c=2)", "f(a, c=2)"),
        ({"arg_keyword": "b", "arg_new": ""}, "f(a, b=1)", "f(a)"),
        ({"arg_keyword": "b", "arg_new": ""}, "f(b=1,)", "f()"),
        (
            {"arg_keyword": "b", "arg_new": "'npu'", "white_list": ["CPU"]},
            "f(b='cpu')\nf(b='gpu')",
            "f(b='cpu')\nf(b='npu')",
        ),
        ({"arg_keyword": "b", "arg_new": "1"}, "g(b=2)", "g(b=2)"),
    ],
)
def test_argument(tmp_path: Path, row: dict[str, Any], before: str, after: str) -> None:
    assert _out(_rules(tmp_path, ArgsModifyRule=[{"func_name": "f", **row}]), before) == after


def test_an_argument_is_taken_out_by_its_place_once_a_run(tmp_path: Path) -> None:
    rules = _rules(tmp_path, ArgsModifyRule=[{"func_name": "f", "arg_idx": 0, "arg_new": ""}])
    assert _out(rules, "import torch\ntorch.cuda.synchronize()\nf(1, 2, 3)", again=False).endswith("\nf(2, 3)")


def test_rows_beside_the_rules_of_npuify(tmp_path: Path) -> None:
    rules = _rules(tmp_path, FuncNameModifyRule=[{"old_name": "mylib.gpu_norm", "new_name": "npu_norm"}])
    before = "import torch, mylib\nx = mylib.gpu_norm(torch.ones(2).cuda())\n"
    assert "mylib.npu_norm(torch.ones(2).npu())" in _out(rules, before)


def test_a_file_that_needs_no_other_rule(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("old()\n")
    (tmp_path / "r.json").write_text(
        json.dumps({"rules": {"FuncNameModifyRule": [{"old_name": "old", "new_name": "new"}]}})
    )
    options = Options(rules=(str(tmp_path / "r.json"),), cache=False)
    result = npuify.migrate(tmp_path / "src", None, options, mode="diff")
    assert "+new()" in result.diff
    assert npuify.migrate(tmp_path / "src", None, Options(cache=False), mode="diff").diff == ""


def test_the_cache_knows_one_set_of_rules_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("old()\n")
    (tmp_path / "r.json").write_text(
        json.dumps({"rules": {"FuncNameModifyRule": [{"old_name": "old", "new_name": "new"}]}})
    )
    rules = Options(rules=(str(tmp_path / "r.json"),))
    for _ in range(2):
        assert npuify.scan([tmp_path / "src"], Options()).findings == ()
        assert len(npuify.scan([tmp_path / "src"], rules).findings) == 1


def test_notebooks(tmp_path: Path) -> None:
    rules = _rules(tmp_path, FuncNameModifyRule=[{"old_name": "old", "new_name": "new"}])
    worker = Worker(RELEASE, Selection(opt_ins=OptIns(custom=rules)), ProjectIndex(Path("/nowhere"), [], []))
    raw = b'{"cells": [{"cell_type": "code", "source": ["old(1)"]}]}'
    assert migrate_file("a.ipynb", raw, worker, unsafe=False).raw == raw.replace(b"old", b"new")


def test_toml(tmp_path: Path) -> None:
    rules = _toml(
        tmp_path,
        """
        [[fact]]
        name = "mylib.cuda_ops"
        meaning = "module"
        replacement = "mylib.npu_ops"

        [[fact]]
        name = "mylib.Fast"
        replacement = "mylib.Plain"

        [[fact]]
        name = "mylib.load"
        meaning = "argument"
        keyword = "device"
        value = "'npu'"
        unless = ["cpu"]

        [[fact]]
        name = "mylib.risky"
        severity = "error"
        message = "does not run on an NPU"
        advice = "ask the authors"
        """,
    )
    before = (
        "import mylib.cuda_ops as ops\nfrom mylib import Fast\nimport mylib\n"
        "class A(Fast): pass\nb = mylib.Fast\nmylib.load(device='cuda:1')\nmylib.load(device='cpu')\n"
    )
    assert _out(rules, before) == (
        "import mylib.npu_ops as ops\nfrom mylib import Plain as Fast\nimport mylib\n"
        "class A(Fast): pass\nb = mylib.Plain\nmylib.load(device='npu')\nmylib.load(device='cpu')\n"
    )
    worker = Worker(RELEASE, Selection(opt_ins=OptIns(custom=rules)), ProjectIndex(Path("/nowhere"), [], []))
    (found,), *_ = worker.analyse("a.py", b"import mylib\nmylib.risky(1)\n")
    assert (found.severity, found.safety, found.advice) == (Severity.ERROR, Safety.MANUAL, "ask the authors")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", 'no top-level object "rules"'),
        ('{"rules": []}', 'no top-level object "rules"'),
        ('{"rules": {"Other": []}}', "'Other' is not a kind of rule"),
        ('{"rules": {"FuncNameModifyRule": {}}}', "must be a list"),
        (
            '{"rules": {"FuncNameModifyRule": [{"old_name": "a", "new_name": "b"}, {"old_name": "a"}]}}',
            "FuncNameModifyRule 2: Object missing required field `new_name`",
        ),
        (
            '{"rules": {"FuncNameModifyRule": [{"old_name": "a", "new_nmae": "b"}]}}',
            "FuncNameModifyRule 1: Object contains unknown field `new_nmae`",
        ),
        ('{"rules": {"FuncNameModifyRule": [{"old_name": "a()", "new_name": "b"}]}}', "old_name 'a()' is not a name"),
        ('{"rules": {"FuncNameModifyRule": [3]}}', "FuncNameModifyRule 1"),
        ('{"rules": {"ArgsModifyRule": [{"func_name": "f", "arg_new": "1"}]}}', "which argument is meant"),
        (
            '{"rules": {"ArgsModifyRule": [{"func_name": "f", "arg_idx": "0", "arg_new": "1"}]}}',
            "Expected `int`, got `str` - at `$.arg_idx`",
        ),
        (
            '{"rules": {"ArgsModifyRule": [{"func_name": "f", "arg_idx": 0, "arg_new": "1 +"}]}}',
            "'1 +' is not an expression",
        ),
        (
            '{"rules": {"ArgsModifyRule": [{"func_name": "f", "arg_keyword": "b c", "arg_new": "1"}]}}',
            "cannot be a keyword",
        ),
        (
            '{"rules": {"ArgsModifyRule": [{"func_name": "f", "arg_idx": 0, "arg_new": "1", "white_list": ["("]}]}}',
            "the pattern '('",
        ),
        ('{"rules": {"ModuleNameModifyRule": [{"old_name": "a", "new_name": "b"}]}}', "parent_module"),
    ],
)
def test_mistakes_in_json_are_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(content)
    with pytest.raises(NpuifyError) as caught:
        read_rules(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[[fact", "is not TOML"),
        ("[[rule]]\nname = 'a'", "only [[fact]]"),
        ("[[fact]]\nname = 'a'", "fact 1: has neither a replacement"),
        ("[[fact]]\nname = 'a'\nreplacement = 'b'\n[[fact]]\nname = 'a b'\nreplacement = 'c'", "fact 2: name 'a b'"),
        ("[[fact]]\nname = 'a'\nreplacement = 'b'\nsafety = 'sure'", "Invalid enum value 'sure' - at `$.safety`"),
        ("[[fact]]\nname = 'a'\nmeaning = 'argument'\nvalue = '1'", "which argument is meant"),
        ("[[fact]]\nname = 'a'\nmeaning = 'argument'\nindex = 0", "either a value or remove"),
        ("[[fact]]\nname = 'a'\nmeaning = 'argument'\nindex = 0\nvalue = '1'\nreplacement = 'b'", "takes a value"),
        ("[[fact]]\nname = 'a'\nreplacement = 'b'\nindex = 1", 'belong to the meaning "argument"'),
    ],
)
def test_mistakes_in_toml_are_named(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(NpuifyError) as caught:
        _toml(tmp_path, content)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("m.f", "m.f")], "fact 1: m.f would become m.f, which changes nothing"),
        ([("m.f", "m.f.g")], "fact 1: m.f.g contains m.f again"),
        ([("m.f", "m.g"), ("m.f", "m.h")], "fact 2: makes m.f m.h, but fact 1 makes it m.g"),
        ([("m.f", "m.g"), ("m.g", "m.f")], "fact 1: m.f becomes m.g, which fact 2 turns back into it"),
        ([("m.f", "m.g"), ("m.g", "m.h"), ("m.h", "m.f")], "fact 1: m.f becomes m.g, which fact 2, fact 3 turns back"),
        ([("m.f", "m.g"), ("m.g", "m.h"), ("m.f", "m.g")], ""),
    ],
)
def test_rows_that_do_not_go_together_are_named(tmp_path: Path, rows: list[tuple[str, str]], said: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("".join(f"[[fact]]\nname = '{name}'\nreplacement = '{new}'\n" for name, new in rows))
    if not said:
        assert len(read_rules(file)) == len(rows)
        return
    with pytest.raises(NpuifyError, match=re.escape(said)):
        read_rules(file)


def test_rows_of_two_files_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    for name, old, new in (("one", "f", "g"), ("two", "g", "f")):
        row = {"rules": {"FuncNameModifyRule": [{"old_name": old, "new_name": new}]}}
        (tmp_path / f"{name}.json").write_text(json.dumps(row))
    options = Options(rules=(str(tmp_path / "one.json"), str(tmp_path / "two.json")), cache=False, jobs=1)
    with pytest.raises(NpuifyError, match="turns back into it"):
        npuify.scan([tmp_path], options)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="cannot be read"):
        read_rules(tmp_path / "none.json")


def test_a_file_that_is_broken_where_no_other_rule_looks(tmp_path: Path) -> None:
    rules = _rules(tmp_path, FuncNameModifyRule=[{"old_name": "old", "new_name": "new"}])
    worker = Worker(RELEASE, Selection(opt_ins=OptIns(custom=rules)), ProjectIndex(Path("/nowhere"), [], []))
    before = b"import torch\ntorch.cuda.synchronize()\n\ndef f():\n    old()\n\ndef g():\n    x = = 1\n"
    result = migrate_file("a.py", before, worker, unsafe=False)
    assert result.raw is None
    assert [error.line for error in result.errors] == [8]
    assert {finding.code for finding in result.left} == {"NPU190"}
