"""The pages of the reference, made from what npuify knows: commands, rules, errors, packages, releases and more."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from npuify import api
from npuify.cli.common.program import program
from npuify.cli.schema import SCHEMAS
from npuify.knowledge.failures.causes import causes, code_facts
from npuify.knowledge.hand_written import environment, packages
from npuify.knowledge.release.table import load
from npuify.knowledge.release.versions import releases
from npuify.language import phrase, speaking
from npuify.report.addresses import rule_page
from npuify.report.areas import area
from npuify.report.evidence import KNOWN
from tools.site.languages import in_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from npuify.model import Explanation, RuleInfo
    from tools.site.languages import SiteLanguage

FOLDER = "reference"
_PYTHON = re.compile(r"\b(import|def)\b|=")
_MOST_CODES = 40
"""Error codes of one family that a cell of a table lists."""


def pages(language: SiteLanguage) -> dict[str, str]:
    """All pages of the reference: path below the root of the site's sources, and its Markdown."""
    with speaking(language.name):
        found: dict[str, Callable[[SiteLanguage], str]] = {
            "commands.md": _commands,
            "rules/index.md": _rules,
            "errors.md": _errors,
            "variables.md": _variables,
            "packages.md": _packages,
            "releases.md": _releases,
            "names.md": _names,
            "schemas.md": _schemas,
        }
        made = {f"{FOLDER}/{path}": make(language) for path, make in found.items()}
        for hundred, rules in _by_hundred().items():
            made[f"{FOLDER}/rules/{page_of(rules[0].code)}.md"] = _rule_page(hundred, rules)
    return made


def page_of(code: str) -> str:
    """The name of the page with the rules of a code's hundred: ``npu3xx``."""
    return Path(rule_page(code).partition("#")[0]).stem


def _by_hundred() -> dict[str, list[RuleInfo]]:
    found: dict[str, list[RuleInfo]] = {}
    for rule in api.rules():
        found.setdefault(page_of(rule.code), []).append(rule)
    return found


# --- rules ---


def _rules(language: SiteLanguage) -> str:
    text = in_language(
        "Each rule has a place here that does not change: its page, and its code in small letters, as in "
        "`npu3xx/#npu301`. `npuify rules NPU301` prints the same text.",
        language,
    )
    lines = [_title("Rules", language), text, ""]
    for page, rules in _by_hundred().items():
        rows = [
            (
                f"[{rule.code}]({page}.md#{rule.code.lower()})",
                f"`{rule.name}`",
                rule.safety.value,
                rule.severity.value,
                _inline(phrase(rule.summary)),
            )
            for rule in rules
        ]
        lines += [f"## {phrase(area(rules[0].code))}", "", *_table(_heads(language, _RULE_HEADS), rows), ""]
    return _page(lines)


_RULE_HEADS = ("code", "name", "edits", "severity", "what it is about")


def _rule_page(page: str, rules: Sequence[RuleInfo]) -> str:
    lines = [f"# {page.upper().replace('XX', 'xx')}: {phrase(area(rules[0].code))}", ""]
    for rule in rules:
        lines += [f"## {rule.code} {rule.name} {{ #{rule.code.lower()} }}", "", *_explained(api.explain(rule.code)), ""]
    return _page(lines)


def _explained(answer: Explanation) -> Iterator[str]:
    """The text of an answer, its indented code in fences, and how it is known."""
    code: list[str] = []
    for line in [*answer.text, ""]:
        if line.startswith("    ") or (code and not line.strip()):
            code.append(line[4:])
            continue
        if code:
            yield from _fenced(code)
            code = []
        text = _inline(line.rstrip())
        yield text.removesuffix("::").rstrip() + ":" if text.endswith("::") else text
        yield ""
    if code and any(code):
        yield from _fenced(code)
    known = phrase(KNOWN[answer.evidence])
    yield f"*{answer.evidence.value}: {_inline(known)}*" + (f" — {_inline(answer.source)}" if answer.source else "")


def _fenced(code: list[str]) -> Iterator[str]:
    while code and not code[-1].strip():
        code.pop()
    shown = "\n".join(code)
    kind = (
        "diff" if shown.startswith(("--- ", "+++ ")) else "python" if re.search(r"\b(import|def|=)", shown) else "text"
    )
    yield f"``` {kind}"
    yield shown
    yield "```"
    yield ""


# --- commands ---


def _commands(language: SiteLanguage) -> str:
    lines = [_title("Commands and options", language), ""]
    for name, command in _leaves(typer.main.get_command(program()), ()):
        lines += [f"## npuify {' '.join(name)}", "", _inline(phrase(command.help or "")), ""]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        if arguments:
            rows = [(f"`{one.make_metavar(_context(command))}`", _help(one)) for one in arguments]
            lines += [*_table(_heads(language, ("argument", "meaning")), rows), ""]
        rows = [
            (", ".join(f"`{word}`" for word in (*one.opts, *one.secondary_opts)), _help(one), _default(one))
            for one in command.params
            if one.param_type_name == "option" and not one.hidden
        ]
        lines += [*_table(_heads(language, ("option", "meaning", "default")), rows), ""]
    return _page(lines)


def _leaves(command: Any, name: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, below in command.commands.items():
        yield from _leaves(below, (*name, word))


def _context(command: Any) -> Any:
    return command.context_class(command)


def _help(parameter: Any) -> str:
    return _inline(phrase(getattr(parameter, "help", "") or ""))


def _default(parameter: Any) -> str:
    value = parameter.default
    value = value() if callable(value) else value
    value = getattr(value, "value", value)
    plain = value in (None, "", False, (), []) or type(value).__module__.startswith(("click", "typer"))
    return "" if plain else f"`{value}`"


# --- what the tables say ---


def _errors(language: SiteLanguage) -> str:
    codes: dict[str, list[str]] = {}
    for fact in code_facts():
        codes.setdefault(fact.cause, []).extend(fact.code)
    lines = [_title("Error codes and failures", language), *_generated(language)]
    for cause in sorted(causes().values(), key=lambda one: one.id):
        lines += [f"## {_inline(phrase(cause.title))} {{ #{cause.id} }}", ""]
        mine = codes.get(cause.id, [])
        if mine:
            more = ", …" if len(mine) > _MOST_CODES else ""
            lines += [
                f"{in_language('codes', language)}: " + ", ".join(f"`{one}`" for one in mine[:_MOST_CODES]) + more,
                "",
            ]
        lines += [_inline(phrase(cause.why)), "", _inline(phrase(cause.fix)), ""]
        if cause.commands:
            lines += ["``` sh", *cause.commands, "```", ""]
        if cause.question:
            lines += [_inline(phrase(cause.question)), ""]
            lines += [f"- {_inline(phrase(seen))}: {_inline(phrase(then))}" for seen, then in cause.answers] + [""]
    return _page(lines)


def _variables(language: SiteLanguage) -> str:
    rows = [
        (f"`{name}`", fact.action, f"`{fact.npu}`" if fact.npu else "", _inline(phrase(fact.message)), _known(fact))
        for name, fact in sorted(environment().items())
    ]
    heads = _heads(language, ("variable", "what npuify does", "becomes", "meaning", "known"))
    return _page([_title("Environment variables", language), *_generated(language), *_table(heads, rows)])


def _packages(language: SiteLanguage) -> str:
    seen, rows = set(), []
    for fact in packages().values():
        if fact.package in seen:
            continue
        seen.add(fact.package)
        names = ", ".join(f"`{one}`" for one in fact.package or fact.imports)
        told = f"{_inline(phrase(fact.message))} {_inline(phrase(fact.advice))}".strip()
        rows.append((names, told, _known(fact)))
    lines = [_title("Packages", language), *_generated(language)]
    return _page([*lines, *_table(_heads(language, ("package", "meaning", "known")), sorted(rows))])


def _releases(language: SiteLanguage) -> str:
    rows = [
        (
            one.torch_npu,
            one.torch,
            one.cann or "–",
            ", ".join(one.pythons) or "–",
            in_language("yes" if one.has_table else "no", language),
        )
        for one in releases()
    ]
    heads = ("torch_npu", "torch", "CANN", "Python", in_language("names known", language))
    return _page([_title("Releases of torch_npu", language), *_generated(language), *_table(heads, rows)])


def _names(language: SiteLanguage) -> str:
    """Which names of ``torch.cuda`` each release has; one column for each series of torch, its newest release."""
    newest: dict[str, str] = {}
    for one in releases():
        if one.has_table:
            newest[".".join(one.torch.split(".")[:2])] = one.torch_npu
    tables = {series: load(release) for series, release in newest.items()}
    known = sorted(
        f"{module}.{name}"
        for module, names in next(iter(tables.values())).content.cuda.items()
        for name in names
        if module.startswith("torch.cuda") and "._" not in f"{module}.{name}"
    )
    rows = []
    for name in known:
        found = [table.counterpart(name) for table in tables.values()]
        rows.append((f"`{name}`", *("–" if one is None or one.npu is None else f"`{one.npu}`" for one in found)))
    lines = [_title("Names of torch.cuda", language)]
    lines += [in_language("A cell names the counterpart; a dash says that the release has none.", language), ""]
    lines += [in_language("`npuify explain NAME` says what is known of each, with all releases.", language), ""]
    return _page([*lines, *_table((in_language("name", language), *tables), rows)])


def _schemas(language: SiteLanguage) -> str:
    text = in_language("What `--format json` prints. `npuify schema NAME` prints the schema.", language)
    lines = [_title("JSON Schemas", language), text, ""]
    for name, place in SCHEMAS.items():
        module, _, function = place.partition(":")
        lines += [f"## {name} {{ #{name} }}", "", "``` json"]
        lines += [getattr(importlib.import_module(module), function)().rstrip(), "```", ""]
    return _page(lines)


# --- Markdown ---


def _title(text: str, language: SiteLanguage) -> str:
    return f"# {in_language(text, language)}\n"


def _generated(language: SiteLanguage) -> list[str]:
    return [in_language("This page is generated from the tables that npuify uses.", language), ""]


def _heads(language: SiteLanguage, heads: Iterable[str]) -> tuple[str, ...]:
    return tuple(in_language(head, language) for head in heads)


def _known(fact: Any) -> str:
    return f"{fact.evidence.value}: {_inline(fact.source)}"


def _inline(text: str) -> str:
    """Text of npuify as Markdown: its marks around code stay, and nothing else in it is read as markup."""
    parts = re.split(r"``(.+?)``", text)
    escaped = [re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part}`".replace("|", r"\|") for part in parts[1::2]]
    return "".join(part + mark for part, mark in zip(escaped, [*code, ""], strict=True))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in lines]


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
