"""What every rule must pass in the portable and the automatic style: all documented examples and case files.

``<name>.portable.out.py`` and ``<name>.auto.out.py`` beside a case hold what it becomes there; for the example in a rule's
documentation they are called ``documented``. Without such a file the input has to stay as it is.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from npuify import knowledge
from npuify.engine.catalog import all_rules
from npuify.options import Options
from npuify.rewrite.plan import plan
from npuify.styles.auto.restyle import FORMS, KEPT
from npuify.styles.portable import restyle as portable

from ..engine.test_every_rule import CASES, EXAMPLES, NPU_NAME, _file, _unsafe, _whole_statement
from ..harness import RELEASE, findings, for_each, migrated, output

if TYPE_CHECKING:
    from pathlib import Path

STYLES = ("portable", "auto")
PYTHON = [(name, before) for name, before, _ in EXAMPLES if _file(name).endswith(".py")]
CASE = [(name, before, style) for name, before in PYTHON for style in STYLES]
IDS = [f"{style}-{name}" for name, _, style in CASE]


def _expected(name: str, before: str, style: str) -> str:
    if "/" in name:
        target = CASES / name.replace(".in.py", f".{style}.out.py")
    else:
        target = CASES / name / f"documented.{style}.out.py"
    return target.read_text("utf-8") if target.exists() else before


def _migrated(name: str, text: str, style: str) -> str:
    return output(text, unsafe=_unsafe(name), name=_file(name), style=style)


@pytest.mark.core
@pytest.mark.parametrize(("name", "before", "style"), CASE, ids=IDS)
def test_result(name: str, before: str, style: str) -> None:
    assert _migrated(name, before, style) == _expected(name, before, style)


@for_each(CASE, IDS)
def test_output_parses_and_settles(name: str, before: str, style: str) -> None:
    after = _expected(name, before, style)
    ast.parse(after)
    again = migrated(after, name=_file(name), style=style, unsafe=_unsafe(name))
    assert again.raw is None, "a second run changed something"


@for_each(CASE, IDS)
def test_line_ends_stay(name: str, before: str, style: str) -> None:
    text = before.replace("\n", "\r\n")
    result = migrated(text.encode(), unsafe=_unsafe(name), name=_file(name), style=style)
    got = result.raw.decode() if result.raw is not None else text
    assert got == _expected(name, before, style).replace("\n", "\r\n")


@for_each(CASE, IDS)
def test_comments_stay(name: str, before: str, style: str) -> None:
    lines = before.splitlines()
    kept = [number for number in range(len(lines)) if _whole_statement(lines, number)]
    kept = [number for number in kept if "import torch.cuda" not in lines[number]]
    marked = "\n".join(f"{line}  # keep {number}" if number in kept else line for number, line in enumerate(lines))
    got = _migrated(name, marked + "\n", style)
    for number in kept:
        assert f"# keep {number}" in got


@for_each(CASE, IDS)
def test_ignore_comment_silences(name: str, before: str, style: str) -> None:
    text = f"# npuify: ignore-file\n{before}"
    assert output(text, unsafe=True, name=_file(name), style=style) == text


class _OtherSide(ast.NodeTransformer):
    """Takes away what runs on an NPU only, by a test of the helper's type."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test) == "compute_device.type == 'npu'" else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test) == "compute_device.type == 'npu'" else node


def _without_npu_side(code: str) -> str:
    if 'compute_device.type == "npu"' not in code:
        return code
    return ast.unparse(_OtherSide().visit(ast.parse(code))) + "\n"


@for_each(PYTHON, [name for name, _ in PYTHON])
def test_portable_code_says_nothing_that_needs_an_npu(name: str, before: str) -> None:
    after = _without_npu_side(_expected(name, before, "portable"))
    new = set(NPU_NAME.findall(after)) - set(NPU_NAME.findall(before))
    assert not new, "torch.npu and torch_npu are not there on a machine with CUDA"
    for word in ('"npu"', "'npu'", '"hccl"', "'hccl'"):
        for line in set(after.splitlines()) - set(before.splitlines()):
            # It may stand beside CUDA's word, or be asked for.
            if word in line:
                assert re.search(r"[\"'](?:cu|cud|cuda|nccl)[\"']|\.is_cuda or |compute_device\.type [!=]= ", line), (
                    line
                )


@for_each(PYTHON, [name for name, _ in PYTHON])
def test_automatic_code_says_names_that_exist(name: str, before: str) -> None:
    table = knowledge.load(RELEASE)
    for found in NPU_NAME.findall(_expected(name, before, "auto")):
        parts = found.split(".")
        exists = any(table.has(".".join(parts[:length])) for length in range(len(parts), 1, -1))
        assert found in before or exists or found.startswith("torch_npu.contrib"), found


def test_every_rule_that_edits_python_has_its_place_in_each_style() -> None:
    """Without one its edits are refused (portable) or kept (auto), which may be right, but has to be decided."""
    editing = {code for code, rule in all_rules().items() if rule.example("Before") and not rule.place_on_npu}
    python = {code for code in editing if all_rules()[code].example_file.endswith(".py")}
    listed = {**portable.FORMS, **portable.REFUSED, **dict.fromkeys(portable.SAME)}
    missing = {code for code in python if not all_rules()[code].style} - set(listed)
    assert not missing, "say in styles/portable.py what becomes of their edits"
    missing = {code for code in python if not all_rules()[code].style} - set(FORMS) - KEPT
    assert not missing, "say in styles/auto/restyle.py what becomes of their edits"


def test_refused_edits_say_why() -> None:
    found = [item for item in findings("import torch\nx = torch.cuda.current_stream().cuda_stream\n", style="portable")]
    (left,) = [item for item in found if item.code == "NPU114"]
    assert not left.edits
    assert "not edited: the handle belongs to one runtime" in left.message
    assert left.advice.endswith("on an NPU write: x = torch.cuda.current_stream().npu_stream")


@pytest.mark.parametrize("style", STYLES)
def test_nothing_is_said_of_code_that_the_style_itself_has_written(style: str, tmp_path: Path) -> None:
    text = (
        "import torch\nimport argparse\n"
        "def main(x):\n"
        "    if x.device.type == 'cuda' and torch.cuda.get_device_capability()[0] >= 8:\n"
        "        return torch.cuda.CUDAGraph()\n"
        "    argparse.ArgumentParser().add_argument('--backend', default='nccl', choices=['nccl', 'gloo'])\n"
    )
    (tmp_path / "program.py").write_text(text, "utf-8")
    result, contents = plan(tmp_path, Options(torch_npu=RELEASE, jobs=1, cache=False, style=style))
    assert "program.py" in contents
    assert not [one for one in result.left if "already handles the NPU" in one.message]


def test_no_goldens_without_a_case() -> None:
    for style in STYLES:
        for target in CASES.glob(f"*/*.{style}.out.py"):
            name = target.name.replace(f".{style}.out.py", "")
            assert name == "documented" or target.with_name(f"{name}.in.py").exists(), target
