"""Imports of the project's own extensions under names that Python computes, in whole or in part."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ANY: Final = "*"
"""Stands in a form for what is not written."""
WORDS: Final = (b"import_module", b"__import__")
"""Of files that may import under a computed name, each holds one of these."""
_FEWEST: Final = 2
"""Characters of a last part that have to be written before a form is more than a wildcard."""
_MOST_STEPS: Final = 4


class Computed(NamedTuple):
    """The name of an extension, as far as it is known."""

    module: str
    """As operators carry it; empty where it cannot be told."""
    form: str
    """The name, ``*`` for what Python computes."""
    variable: str = ""
    """The variable that holds it where the extension is built, if that file has it from elsewhere."""

    @property
    def word(self) -> str:
        """The last part of a name of which only what stands before it is computed: ``_C`` of ``*._C``."""
        last = "" if self.module else self.form.rpartition(".")[2]
        return last if len(last) >= _FEWEST and last.isidentifier() else ""


def form_of(node: ast.expr | None, assigned: Mapping[str, ast.expr], steps: int = _MOST_STEPS) -> str:
    """A text as it is written, ``*`` for each part that Python computes.

    Args:
        node: what gives the text.
        assigned: what the names of the file are assigned.
        steps: through how many names to look.
    """
    text = ANY
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(form_of(one, assigned, steps) for one in node.values)
    elif isinstance(node, ast.FormattedValue):
        text = form_of(node.value, assigned, steps)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        text = form_of(node.left, assigned, steps) + form_of(node.right, assigned, steps)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = re.sub(r"%(?:\(\w*\))?[-+#0 ]*[\d.]*[a-zA-Z]", ANY, form_of(node.left, assigned, steps))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = re.sub(r"\{[^{}]*\}", ANY, form_of(node.func.value, assigned, steps))
    elif isinstance(node, ast.Name) and steps and node.id in assigned:
        text = form_of(assigned[node.id], assigned, steps - 1)
    return re.sub(r"\*+", ANY, text)


def assignments(tree: ast.AST) -> dict[str, ast.expr]:
    """What a file assigns to each name; not to names that it assigns more than once."""
    found: dict[str, ast.expr] = {}
    more: set[str] = set()
    for node in ast.walk(tree):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                more.update({target.id} & found.keys())
                found[target.id] = node.value  # type: ignore[attr-defined]  # of an Assign
    return {name: value for name, value in found.items() if name not in more}


def variable_of(node: ast.expr | None) -> str:
    """The name of a variable that is handed over as it is, that of an attribute as well."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def form_of_variable(variable: str, data: bytes) -> str:
    """The form that a file gives to a variable; ``*`` where it gives it none."""
    if not re.search(rb"^[ \t]*" + re.escape(variable.encode()) + rb"[ \t]*=[^=]", data, re.MULTILINE):
        return ANY
    tree = _parsed(data)
    assigned = assignments(tree) if tree is not None else {}
    return form_of(assigned.get(variable), assigned)


def variables_of(form: str, data: bytes) -> set[str]:
    """The variables to which a file gives a name that agrees with a form."""
    tree = _parsed(data)
    assigned = assignments(tree) if tree is not None else {}
    return {name for name, value in assigned.items() if _agree(form_of(value, assigned), form)}


def computed_places(
    data: bytes, extensions: Iterable[Computed], names: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, str, int]]:
    """The operators that a file uses of a module that it imports under a computed name: module, operator and line.

    A name of which no part is written may be that of any plugin. It counts where the project has an extension whose
    name is not known, and where an operator of it is used of the very module. Where written parts of both names agree,
    the import counts by itself.

    Args:
        data: the file.
        extensions: those of the project.
        names: the operators of each module.
    """
    tree = _parsed(data)
    if tree is None:
        return
    assigned, own = assignments(tree), own_names(tree)
    holders = _holders(tree)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args or _function(call) not in ("import_module", "__import__"):
            continue
        given = call.args[0]
        form = form_of(given, assigned)
        for extension in extensions:
            if ANY not in form and extension.module:
                continue  # A name that is written is found by the search for its text.
            variable = variable_of(given)
            same = bool(variable) and variable == extension.variable and variable not in own
            fits = same or _agree(form, extension.form)
            if not fits and (extension.module or not _may_be(form, extension.form)):
                continue
            operators = frozenset(names.get(extension.module, ()))
            used = list(_used(tree, call, holders.get(call, ""), operators))
            if fits and not used:
                used = [(name, call.lineno) for name in sorted(operators)]
            for name, line in used:
                yield extension.module, name, line


def _agree(form: str, wanted: str) -> bool:
    """Whether the last parts of two names agree in what is written of both at their beginning or end."""
    one, other = (text.rpartition(".")[2] for text in (form, wanted))
    if not _may_be(form, wanted):
        return False
    if ANY not in one or ANY not in other:
        return all(len(text.replace(ANY, "")) >= _FEWEST for text in (one, other))
    first = min(len(one.partition(ANY)[0]), len(other.partition(ANY)[0]))
    last = min(len(one.rpartition(ANY)[2]), len(other.rpartition(ANY)[2]))
    return max(first, last) >= _FEWEST


def _may_be(form: str, wanted: str) -> bool:
    """Whether one name can be of both forms, by their last parts."""
    one, other = (text.rpartition(".")[2] for text in (form, wanted))
    for plain, pattern in ((one, other), (other, one)):
        if ANY not in plain:
            return re.fullmatch(".*".join(map(re.escape, pattern.split(ANY))), plain) is not None
    (first, _, _), (second, _, _) = one.partition(ANY), other.partition(ANY)
    (_, _, last), (_, _, ending) = one.rpartition(ANY), other.rpartition(ANY)
    begins = first.startswith(second) or second.startswith(first)
    return begins and (last.endswith(ending) or ending.endswith(last))


def own_names(tree: ast.AST) -> set[str]:
    """The names that a file gives values itself: what they hold does not come from where an extension is named."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _holders(tree: ast.AST) -> dict[ast.Call, str]:
    """The names under which the results of calls are kept."""
    return {
        node.value: ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, (ast.Name, ast.Attribute))
    }


def _used(tree: ast.AST, call: ast.Call, holder: str, operators: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The operators that are taken of what a call gives, each with its line."""
    for node in ast.walk(tree):
        of, name = None, ""
        if isinstance(node, ast.Attribute):
            of, name = node.value, node.attr
        elif isinstance(node, ast.Call) and _function(node) == "getattr" and len(node.args) > 1:
            of, given = node.args[0], node.args[1]
            name = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
        if of is None or name not in operators:
            continue
        if of is call or (holder and isinstance(of, (ast.Name, ast.Attribute)) and ast.unparse(of) == holder):
            yield name, node.lineno  # type: ignore[attr-defined]  # an expression


def _function(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _parsed(data: bytes) -> ast.AST | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
