"""Read a user's file of rules: the JSON of the vendor's migration tool, or npuify's own TOML.

The form of the JSON is that of the option ``-r`` of msFmkTransplt, as its documentation gives it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.language import commas, phrase
from npuify.model import Evidence, NpuifyError, Safety, Severity
from npuify.rules.opt_ins import CustomRule, Meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_HELP = "docs/custom-rules.md shows both forms"


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    old_name: str
    new_name: str
    replace_module: bool = False
    feature_switch: list[str] = []


class _Module(msgspec.Struct, forbid_unknown_fields=True):
    old_name: str
    new_name: str
    parent_module: str
    feature_switch: list[str] = []


class _Argument(msgspec.Struct, forbid_unknown_fields=True):
    func_name: str
    arg_new: str
    arg_idx: int = -1
    arg_keyword: str | None = None
    white_list: list[str] | None = None
    feature_switch: list[str] = []


class _Fact(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    meaning: Meaning = "name"
    replacement: str = ""
    index: int = -1
    keyword: str = ""
    value: str = ""
    remove: bool = False
    unless: list[str] = []
    safety: Safety = Safety.SAFE
    severity: Severity = Severity.WARNING
    message: str = ""
    advice: str = ""
    evidence: Evidence = Evidence.ASSUMED
    source: str = ""


def read_rules(path: Path) -> tuple[CustomRule, ...]:
    """The rows of a file of rules, in the order of the file.

    Raises:
        NpuifyError: the file cannot be read or is of neither form, or a row is wrong: it names the row and the fault.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from None
    rules = _toml(path, text) if path.suffix.lower() == ".toml" else _json(path, text)
    check_together(str(path), rules)
    return rules


def check_together(file: str, rules: Sequence[CustomRule]) -> None:
    """Refuse rows that contradict each other, or that would go on for ever.

    Raises:
        NpuifyError: naming the row, and the other that it does not go with.
    """
    seen: dict[tuple[str, str, int, str], CustomRule] = {}
    for rule in rules:
        made = rule.replacement or rule.value
        first = seen.setdefault((rule.meaning, rule.name, rule.index, rule.keyword), rule)
        other = first.replacement or first.value
        free = rule.meaning == "argument" and not rule.unless and not first.unless
        if made != other and (free or (rule.replacement and first.replacement)):
            said = (
                phrase("{origin} makes it {other}", origin=first.origin, other=other)
                if other
                else phrase("{origin} takes it out", origin=first.origin)
            )
            raise _wrong(
                file,
                rule.origin,
                phrase("makes {name} {value}, but {said}", name=rule.name, value=made or "go", said=said),
            )
    renamed = {rule.name: rule for rule in rules if rule.replacement}
    for rule in renamed.values():
        new = rule.replacement
        if new == rule.name:
            raise _wrong(file, rule.origin, phrase("{new} would become {new}, which changes nothing", new=new))
        if rule.meaning in ("name", "module") and new.startswith(f"{rule.name}."):
            raise _wrong(
                file,
                rule.origin,
                phrase("{new} contains {name} again, so it would be replaced forever", new=new, name=rule.name),
            )
        passed = [rule]
        while new in renamed and renamed[new] not in passed:
            passed.append(renamed[new])
            new = renamed[new].replacement
        if new == rule.name and len(passed) > 1:
            others = ", ".join(one.origin for one in passed[1:])
            raise _wrong(
                file,
                rule.origin,
                phrase(
                    "{name} becomes {replacement}, which {others} turns back into it",
                    name=rule.name,
                    replacement=rule.replacement,
                    others=others,
                ),
            )


# --- the vendor's JSON -----------------------------------------------------------------------------------------------


def _json(path: Path, text: str) -> tuple[CustomRule, ...]:
    try:
        content = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise NpuifyError(
            phrase("is not JSON: {error}", error=error), advice=_HELP, file=str(path), line=line
        ) from None
    tables = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(tables, dict):
        raise NpuifyError('has no top-level object "rules"', advice=_HELP, file=str(path))
    makers: dict[str, Callable[[str, Any, str], CustomRule]] = {
        "ArgsModifyRule": _from_argument,
        "FuncNameModifyRule": _from_function,
        "ModuleNameModifyRule": _from_module,
    }
    rules: list[CustomRule] = []
    for kind, rows in tables.items():
        if kind not in makers:
            raise NpuifyError(
                phrase("{kind!r} is not a kind of rule", kind=kind),
                advice=phrase("there are {makers}", makers=commas(sorted(makers))),
                file=str(path),
            )
        if not isinstance(rows, list):
            raise NpuifyError(phrase("{kind} must be a list of rows", kind=kind), advice=_HELP, file=str(path))
        for number, row in enumerate(rows, start=1):
            if isinstance(row, dict) and "normal" not in (row.get("feature_switch") or ["normal"]):
                # The vendor's tool leaves out rows that are switched on by its other options only.
                continue
            rules.append(makers[kind](str(path), row, f"{kind} {number}"))
    return tuple(rules)


def _from_function(file: str, row: Any, origin: str) -> CustomRule:
    made = _converted(file, row, _Function, origin)
    _check_name(file, origin, "old_name", made.old_name)
    _check_name(file, origin, "new_name", made.new_name)
    return CustomRule(
        origin=origin,
        meaning="call",
        name=made.old_name,
        replacement=made.new_name,
        keeps_module=not made.replace_module,
        message=f"{made.old_name}() becomes {made.new_name}()",
        source=origin,
    )


def _from_module(file: str, row: Any, origin: str) -> CustomRule:
    made = _converted(file, row, _Module, origin)
    for key in ("old_name", "new_name", "parent_module"):
        _check_name(file, origin, key, getattr(made, key))
    return CustomRule(
        origin=origin,
        meaning="module",
        name=f"{made.parent_module}.{made.old_name}",
        replacement=f"{made.parent_module}.{made.new_name}",
        message=f"{made.parent_module}.{made.old_name} becomes {made.parent_module}.{made.new_name}",
        source=origin,
    )


def _from_argument(file: str, row: Any, origin: str) -> CustomRule:
    made = _converted(file, row, _Argument, origin)
    _check_name(file, origin, "func_name", made.func_name)
    if made.arg_idx < 0 and not made.arg_keyword:
        raise _wrong(file, origin, "has neither arg_idx nor arg_keyword: which argument is meant?")
    return _argument(
        file,
        origin,
        made.func_name,
        made.arg_idx,
        made.arg_keyword or "",
        made.arg_new,
        tuple(made.white_list or ()),
        CustomRule(origin=origin, meaning="argument", name=made.func_name, source=origin),
    )


# --- npuify's own TOML -----------------------------------------------------------------------------------------------


def _toml(path: Path, text: str) -> tuple[CustomRule, ...]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        line = int(match.group(1)) if match else 0
        raise NpuifyError(
            phrase("is not TOML: {error}", error=error), advice=_HELP, file=str(path), line=line
        ) from None
    unknown = sorted(set(content) - {"fact"})
    rows = content.get("fact", [])
    if unknown or not isinstance(rows, list):
        raise NpuifyError(
            phrase("has {value}; it may contain only [[fact]] rows", value=", ".join(unknown) or "fact"), file=str(path)
        )
    return tuple(_from_fact(str(path), row, f"fact {number}") for number, row in enumerate(rows, start=1))


def _from_fact(file: str, row: Any, origin: str) -> CustomRule:
    made = _converted(file, row, _Fact, origin)
    _check_name(file, origin, "name", made.name)
    given = {key for key in ("index", "keyword", "value", "remove", "unless") if isinstance(row, dict) and key in row}
    if made.meaning != "argument" and given:
        raise _wrong(
            file, origin, phrase('has {given}, which belong to the meaning "argument"', given=commas(sorted(given)))
        )
    if made.replacement:
        if made.meaning == "argument":
            raise _wrong(file, origin, 'the meaning "argument" takes a value, not a replacement')
        _check_name(file, origin, "replacement", made.replacement)
    elif made.meaning != "argument" and not (made.message or made.advice):
        raise _wrong(file, origin, "has neither a replacement, nor a message or advice")
    base = CustomRule(
        origin=origin,
        meaning=made.meaning,
        name=made.name,
        replacement=made.replacement,
        keeps_module=False,
        safety=made.safety,
        severity=made.severity,
        message=made.message or (f"{made.name} becomes {made.replacement}" if made.replacement else made.name),
        advice=made.advice,
        evidence=made.evidence,
        source=made.source or origin,
    )
    if made.meaning != "argument":
        return base
    if made.index < 0 and not made.keyword:
        raise _wrong(file, origin, "has neither index nor keyword: which argument is meant?")
    if made.remove == bool(made.value):
        raise _wrong(file, origin, "needs either a value or remove = true")
    return _argument(
        file, origin, made.name, made.index, made.keyword, made.value, tuple(made.unless), base, message=made.message
    )


# --- both ------------------------------------------------------------------------------------------------------------


def _argument(
    file: str,
    origin: str,
    function: str,
    index: int,
    keyword: str,
    value: str,
    unless: tuple[str, ...],
    base: CustomRule,
    message: str = "",
) -> CustomRule:
    if keyword and not keyword.isidentifier():
        raise _wrong(file, origin, phrase("{keyword!r} cannot be a keyword", keyword=keyword))
    if value:
        try:
            ast.parse(f"({value}\n)", mode="eval")
        except (SyntaxError, ValueError) as error:
            raise _wrong(
                file, origin, phrase("{value!r} is not an expression: {error}", value=value, error=error)
            ) from None
    for pattern in unless:
        try:
            re.compile(pattern)
        except re.error as error:
            raise _wrong(
                file, origin, phrase("the pattern {pattern!r} is invalid: {error}", pattern=pattern, error=error)
            ) from None
    which = phrase("argument {index}", index=index) if index >= 0 else phrase("the argument {keyword}", keyword=keyword)
    return msgspec.structs.replace(
        base,
        index=index,
        keyword=keyword,
        value=value,
        unless=unless,
        message=message
        or (
            phrase("{which} of {function}() becomes {value}", which=which, function=function, value=value)
            if value
            else phrase("{which} of {function}() goes", which=which, function=function)
        ),
    )


def _converted(file: str, row: Any, kind: type[Any], origin: str) -> Any:
    try:
        return msgspec.convert(row, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _wrong(file, origin, str(error)) from None


def _check_name(file: str, origin: str, key: str, name: str) -> None:
    if not _DOTTED.fullmatch(name):
        raise _wrong(
            file,
            origin,
            phrase("{key} {name!r} is not a name such as function or package.module.function", key=key, name=name),
        )


def _wrong(file: str, origin: str, what: str) -> NpuifyError:
    return NpuifyError(f"{origin}: {what}", advice=_HELP, file=file)
