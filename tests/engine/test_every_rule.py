"""What every rule must pass without asking: its own documentation, and all case files."""

from __future__ import annotations

import ast
import atexit
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from npuify import knowledge
from npuify.engine.catalog import all_rules
from npuify.model import Safety

from ..harness import RELEASE, findings, for_each, migrated, output

CASES = Path(__file__).parent.parent / "cases"
INPUTS = sorted(CASES.glob("*/*.in.py"))
RULES = all_rules()


def _unsafe(name: str) -> bool:
    """Edits that need a look are shown by the examples as they come out with ``--unsafe``."""
    code = name.partition("/")[0]
    return (code in RULES and RULES[code].safety is Safety.REVIEW) or ".unsafe." in name


@cache
def _root(name: str) -> Path | None:
    """A folder with the files that stand beside an example (``With train.py::``); None where it needs none."""
    rule = RULES.get(name)
    others = re.findall(r"^With (\S+)::$", rule.documentation, re.MULTILINE) if rule is not None else []
    if rule is None or not others:
        return None
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for file in others:
        (folder / file).write_text(rule.example(f"With {file}") or "", "utf-8")
    return folder


def _file(name: str) -> str:
    """The name of the file that an example stands for."""
    return RULES[name].example_file if name in RULES else "program.py"


def _style(name: str) -> str:
    """The style of which an example speaks."""
    return (RULES[name].style if name in RULES else "") or "npu"


def _places(name: str) -> bool:
    """Whether an example is one of placing a program on the NPU."""
    code = name.partition("/")[0]
    return code in RULES and RULES[code].place_on_npu


def _examples() -> list[tuple[str, str, str]]:
    """(name, before, after) of every documented example and every case file."""
    listed = []
    for rule in RULES.values():
        before, after = rule.example("Before"), rule.example("After")
        if before is not None and after is not None:
            listed.append((rule.code, before, after))
    for source in INPUTS:
        target = source.with_name(source.name.replace(".in.py", ".out.py"))
        before = source.read_text("utf-8")
        listed.append(
            (f"{source.parent.name}/{source.name}", before, target.read_text("utf-8") if target.exists() else before)
        )
    return listed


EXAMPLES = _examples()
NAMES = [name for name, _, _ in EXAMPLES]


def _output(name: str, text: str) -> str:
    return output(
        text, unsafe=_unsafe(name), root=_root(name), name=_file(name), style=_style(name), place=_places(name)
    )


@pytest.mark.parametrize("code", RULES)
def test_documentation(code: str) -> None:
    rule = RULES[code]
    assert rule.summary.endswith((".", ":")) or "." in rule.summary
    assert len(rule.summary) < 250
    if rule.safety is not Safety.MANUAL:
        if code in ("NPU107", "NPU138", "NPU750", "NPU919"):
            # Some edit for an older torch or one chip only, and the third is the user's own, in the user's file.
            return
        assert rule.example("Before"), f"{code} edits, so it needs an example"
        assert rule.example("After")


@pytest.mark.core
@pytest.mark.parametrize(("name", "before", "after"), EXAMPLES, ids=NAMES)
def test_result(name: str, before: str, after: str) -> None:
    assert _output(name, before) == after


@for_each(EXAMPLES, NAMES)
def test_rule_is_what_finds_it(name: str, before: str, after: str) -> None:
    code = name.partition("/")[0]
    if before != after and code != "NPU100" and not code.startswith("mixed"):
        found = findings(before, root=_root(name), name=_file(name), style=_style(name), place=_places(name))
        if _style(name) == "npu":
            assert code in [finding.code for finding in found]


@for_each(EXAMPLES, NAMES)
def test_output_parses_and_settles(name: str, before: str, after: str) -> None:
    if _file(name).endswith(".py"):
        ast.parse(after)
    again = migrated(after, root=_root(name), name=_file(name), style=_style(name), place=_places(name))
    assert again.raw is None, "a second run changed something"


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_stay(newline: str) -> None:
    for_each(EXAMPLES, NAMES)(lambda name, before, after: _line_ends_stay(name, before, after, newline))()


def _line_ends_stay(name: str, before: str, after: str, newline: str) -> None:
    if newline == "\r" and _file(name).endswith(".sh"):
        return  # no end of a line to a shell
    raw = before.replace("\n", newline).encode()
    result = migrated(
        raw, unsafe=_unsafe(name), root=_root(name), name=_file(name), style=_style(name), place=_places(name)
    )
    got = result.raw.decode() if result.raw is not None else before.replace("\n", newline)
    assert got == after.replace("\n", newline)


@for_each(EXAMPLES, NAMES)
def test_comments_stay(name: str, before: str, after: str) -> None:
    lines = before.splitlines()
    marked = "\n".join(
        f"{line}  # keep {number}" if _whole_statement(lines, number) else line for number, line in enumerate(lines)
    )
    got = _output(name, marked + "\n")
    for number in range(len(lines)):
        if _whole_statement(lines, number):
            assert f"# keep {number}" in got


def _whole_statement(lines: list[str], number: int) -> bool:
    line = lines[number]
    if not line.strip() or "#" in line or line.rstrip().endswith(("\\", ",", "(", "[", "{", '"""', "'''")):
        return False
    if line.lstrip().startswith(
        ("from torch.cuda", "from torch import", "from torch.profiler", "from torch.distributed")
    ):
        return False  # a statement that holds a comment is not written anew
    try:
        ast.parse(line.strip() if not line.rstrip().endswith(":") else line.strip() + " pass")
    except SyntaxError:
        return False
    return True


@for_each(EXAMPLES, NAMES)
def test_ignore_comment_silences(name: str, before: str, after: str) -> None:
    text = f"# npuify: ignore-file\n{before}"
    assert (
        output(text, unsafe=True, root=_root(name), name=_file(name), style=_style(name), place=_places(name)) == text
    )


NPU_NAME = re.compile(r"\b(torch\.npu(?:\.\w+)+|torch_npu(?:\.\w+)+)")


@for_each(EXAMPLES, NAMES)
def test_names_exist_in_the_release(name: str, before: str, after: str) -> None:
    table = knowledge.load(RELEASE)
    for found in NPU_NAME.findall(after):
        if found in before or found.startswith("torch_npu.contrib"):
            continue
        parts = found.split(".")
        assert any(table.has(".".join(parts[:length])) for length in range(len(parts), 1, -1)), found


def test_words_of_rules_are_lower_case() -> None:
    """Files are searched in lower case: another word would never be found, and the rule never asked."""
    wrong = [
        f"{rule.code}: {word}"
        for rule in RULES.values()
        for word in (*rule.words, *rule.also_in_file)
        if word != word.lower()
    ]
    assert wrong == []
