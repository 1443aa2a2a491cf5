"""Texts for people in the modules of npuify.

A room that speaks to people says nothing else in sentences, so each of its strings with three words or more is one of
its texts, unless ``not_text.toml`` names it. Shorter ones are texts where they are handed to
:func:`npuify.language.phrase` or where a person reads them: messages, advice, help of options.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[A-Za-z][a-z]+")
_CODE = re.compile(
    r"^\s*(import|from|with|if|for|return|def|class|try|export|SELECT) (?!(?:[a-z]\S* ){7})|[{}<>]| == | = "
    r"|\w\(\w*\)?$|\\n|^#|^[^ ]+$"
    r"|\(\?|\\[bswd.(]"
    r"|^\s*--?\w[\w-]*(?: [^ ]+){0,5}$"
    r"|^\s*(?:npuify|python|docker|torchrun|firewall-cmd|\S+\.py) (?:\S+ )*--\w.*(?<!\.)$"
)
"""What tells that a string is code, a pattern or a command line."""
_RUN = re.compile(r"(?<![\w.\-/])[A-Za-z][a-z']*(?:,? [a-z']+){2,}(?![\w./(=\-])")
"""Words one after the other, as no code has them: a sentence may name a call, and is one all the same."""
_PATTERN = re.compile(r"\(\?|\\[wsSbd.]|^\n?(?:import|SELECT|from \S+ import) ")
_TAG = re.compile(r"</?[a-z!][^<>]*>")
_PAGE = re.compile(
    r"</?(?:article|b|button|code|details|div|h[1-6]|li|option|p|section|small|span|summary|td|th|title)\b[ >]"
)
"""What tells that a string is a piece of a page, and not code with angle brackets."""
_NAMES_ON_PAGES = re.compile(r"npuify(?: [a-z]+)*|torch(?:_npu)?|&\w+;|[A-Z]+\b|status=|<")
"""What is between the tags of pages and in no language."""
_READ_BY_PEOPLE = {"message", "advice", "help", "why", "title"}
_ERRORS = {"NpuifyError", "Refused", "FileError", "BadParameter"}
_FOR_PROGRAMMERS = {"TypeError", "ValueError", "RuntimeError", "KeyError", "AssertionError", "RuleDefinitionError"}
_FUNCTIONS = {"phrase", "sentences", "semicolons", "commas"}
_TAKE_NAMES = {"compile", "startswith", "split", "splitlines", "_rows", "recall", "remember"}
"""Functions that are given names or patterns, not texts."""
_NO_TEXT = {"source", "description", "pattern", "metavar", "words", "names"}
"""Keywords whose strings are none."""


class Text(NamedTuple):
    """A text, its plural where it has one, and where it stands."""

    one: str
    many: str
    line: int


class Glued(NamedTuple):
    """A sentence that code puts together, so that nobody can translate it."""

    line: int
    shown: str


_WITHOUT_TEXTS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
"""Nodes that hold no text, and of which there are many."""


def is_prose(text: str, words: int = 3) -> bool:
    """Whether a string reads as something for people."""
    if " " not in text.strip():
        return False
    if len(_WORD.findall(text)) >= words and not _CODE.search(text):
        return True
    return bool(_RUN.search(text)) and not _PATTERN.search(text)


def on_pages(html: str) -> list[str]:
    """The words between the tags of a piece of HTML, and those of its titles, that no language was asked for."""
    if not _PAGE.search(html):
        return []
    titles = re.findall(r"(?:title|alt|aria-label|placeholder)=[\"']([^\"'<>]*)", html)
    return [part.strip() for part in (*_TAG.split(html), *titles) if _WORD.search(_NAMES_ON_PAGES.sub("", part))]


def texts_of(source: str, *, all_strings: bool) -> tuple[list[Text], list[Glued]]:
    """The texts of a module, and what of it cannot be translated.

    Args:
        all_strings: each string that reads as one is a text, whether or not code says so.
    """
    tree = ast.parse(source)
    # Whole trees are gone through once: this reads all modules each time that catalogs are checked.
    parents: dict[ast.AST, ast.AST] = {}
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _WITHOUT_TEXTS):
                parents[child] = node
                nodes.append(child)
    found = list(_documented(tree, nodes))
    glued = []
    seen: set[ast.AST] = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Call):
            name = _called(node)
            if name in ("phrase", "mark", "plural", "in_plural", "counted", "_count"):
                found += _of_call(name, node)
                seen.update(node.args)
            elif name == "Reason" and len(node.args) == 4:
                one, many = (argument.value for argument in node.args[1:3] if isinstance(argument, ast.Constant))
                found += [Text(f"{{count}} {one}", f"{{count}} {many}", node.lineno), Text(many, "", node.lineno)]
                seen.update(node.args[1:3])
            elif name == "Field":
                # What a tool of the server for coding agents says of an argument.
                found += (
                    Text(one.value.value, "", node.lineno)
                    for one in node.keywords
                    if one.arg == "description" and isinstance(one.value, ast.Constant)
                )
                seen.update(one.value for one in node.keywords)
            elif name in _ERRORS | {"report", "Result", "check"} or name in _FUNCTIONS:
                found += (
                    Text(argument.value, "", argument.lineno)
                    for argument in node.args
                    if isinstance(argument, ast.Constant)
                    and isinstance(argument.value, str)
                    and " " in argument.value.strip()
                )
        elif isinstance(node, ast.keyword) and node.arg in _READ_BY_PEOPLE and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str) and " " in value.strip():
                found.append(Text(value, "", node.value.lineno))
    if not all_strings:
        return found, glued
    known = {text.one for text in found}
    for node in nodes:
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if not is_text or node in seen or _is_aside(node, parents):
            continue
        if isinstance(node, ast.JoinedStr):
            shown = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            if _PAGE.search(shown):
                glued += (Glued(node.lineno, part) for part in on_pages(shown))
            elif is_prose(shown) and not re.search(r"^[^#]*--\w|^bash ", shown):  # command lines are put together
                glued.append(Glued(node.lineno, shown))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _PAGE.search(node.value):
                glued += (Glued(node.lineno, part) for part in on_pages(node.value))
            elif is_prose(node.value) and node.value not in known:
                found.append(Text(node.value, "", node.lineno))
    return found, glued


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _of_call(name: str, node: ast.Call) -> Iterator[Text]:
    words = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    words = [word for word in words if isinstance(word, str)]
    if not words:
        return
    if name in ("counted", "_count"):
        many = words[1] if len(words) > 1 else f"{words[0]}s"
        yield Text(f"{{count}} {words[0]}", f"{{count}} {many}", node.lineno)
    elif name in ("plural", "in_plural"):
        yield Text(words[0], words[1], node.lineno)
    elif re.search("[A-Za-z]{2}", words[0]):
        yield Text(words[0], "", node.lineno)


def _is_aside(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a string is part of an f-string, of an error for programmers, of a type or a pattern, or is compared."""
    at = parents.get(node)
    below = node
    while at is not None:
        if isinstance(at, (ast.JoinedStr, ast.Compare, ast.AnnAssign)) and not (
            isinstance(at, ast.AnnAssign) and below is at.value
        ):
            return True
        if isinstance(at, ast.keyword) and at.arg in _NO_TEXT:
            return True
        if isinstance(at, ast.Call) and (_called(at) in _FOR_PROGRAMMERS or _called(at) in _TAKE_NAMES):
            return True
        if isinstance(at, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            return False
        below, at = at, parents.get(at)
    return False


def _documented(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[Text]:
    """The paragraphs of docstrings that people are shown: those of rules, of commands and of tools for agents."""
    imported = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    rules = {
        argument.id
        for node in nodes
        if isinstance(node, ast.Call) and _called(node) == "Rule"
        for argument in node.args
        if isinstance(argument, ast.Name)
    }
    of_agents = {module.partition(".")[0] for module in imported} & {"mcp", "mcp_types"}
    for node in nodes if of_agents else tree.body:
        if isinstance(node, ast.FunctionDef) and (node.name in rules or _is_shown(node, imported)):
            shown = True
        else:
            shown = isinstance(node, ast.AsyncFunctionDef) and _is_tool(node)
        if shown and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for paragraph in paragraphs(ast.get_docstring(node) or ""):
                yield Text(paragraph, "", node.lineno)


def _is_tool(node: ast.AsyncFunctionDef) -> bool:
    """Whether a function is a tool of the server for coding agents, to which its docstring is shown."""
    return any(isinstance(one, ast.Call) and _called(one) == "tool" for one in node.decorator_list)


def _is_shown(node: ast.FunctionDef, imported: set[str]) -> bool:
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and one.args and isinstance(one.args[0], ast.Constant):
            if re.fullmatch(r"NPU\d+", str(one.args[0].value)):
                return True
    if node.name.startswith("_"):
        return False
    of_command = imported & {"npuify.cli.common.guard", "npuify.cli.common.options"}
    return bool(of_command) and node.returns is not None and ast.unparse(node.returns) == "int"


def paragraphs(documentation: str) -> Iterator[str]:
    """The paragraphs of a docstring, each in one line, without those of code and what announces them."""
    for paragraph in inspect.cleandoc(documentation).split("\n\n"):
        if not paragraph.startswith(" ") and not re.fullmatch(r"[\w. ]+::", paragraph.strip()) and paragraph.strip():
            yield " ".join(paragraph.split())
