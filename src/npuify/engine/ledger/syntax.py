"""What the tree of a Python file and the program model tell about a place."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.flow.destinations import Use
from npuify.analysis.flow.device_names import ADDING, COMPARING
from npuify.analysis.values import OBJECTS, Kind
from npuify.engine.ledger.answer import Cleared
from npuify.engine.ledger.identifiers import cuda_packages
from npuify.engine.ledger.lexical import cleared_text
from npuify.engine.ledger.names_as_texts import becomes_text, is_option_asked_for, names_fields
from npuify.knowledge.third_party.dependencies import dependency
from npuify.language import phrase
from npuify.rules.common.packages.import_guards import has_fallback, is_asked_for
from npuify.source.parser_warnings import without_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.rules.context import PythonFile

_BY_USE: Final = {
    Use.PATH: "path",
    Use.MESSAGE: "message",
    Use.KEY: "key",
    Use.OTHER: "other-string",
    Use.DEVICE_KEY: "key",
}
_OF_PROJECT: Final = frozenset((Kind.FUNCTION, Kind.CLASS, Kind.MODULE, Kind.PROJECT_NAME, *OBJECTS))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CUDA_CODE = re.compile(r"#include|__global__|\bat::|TORCH_CHECK")
_TORCH_CODE = re.compile(r"torch\.\w+(?:\.\w+)*\(|\.cuda\(|\bimport torch\b|[(=]\s*['\"](?:cuda|nccl)\b")
_FIELD = re.compile(r"\$\{?\w+\}?|\{\w*\}|%\(\w+\)s|%[sd]")
"""What a template fills in."""
_GIVEN_CODE = re.compile(r"(?<!\S)-c\s+(?P<quote>['\"])(?P<code>.*?)(?P=quote)", re.DOTALL)
"""What a command gives Python to run: ``python -c 'import torch'``."""
_WRITTEN = ("write()", "write_text()", "writelines()")
_IMPORTS = re.compile(r"import_module|__import__|(?i:load|get_kernel)")
_DEVICE = re.compile(r"(?i)(?:cuda|gpu|nccl)\b.*", re.DOTALL)
_DEVICE_WITHIN = re.compile(r"(?:^|[\s\"'=:,;|])(?:cuda|nccl)(?::\d+)?(?:$|[\s\"',;|}\]])")
"""A device, or a backend, among other words of a text."""
_READ = frozenset(("cuda", "nccl", *cuda_packages()))
"""What an attribute may be called that is read: a flag, or an object that has nothing to do with the package."""
_GOING_THROUGH = frozenset(("iter", "list", "max", "min", "next", "set", "sorted", "tuple"))
_READING = frozenset(("load", "loads", "safe_load", "literal_eval", "StringIO", "read_string"))
_MADE_OVER = frozenset(
    ("replace", "removeprefix", "removesuffix", "format", "format_map", "translate", "join", "ljust")
)
"""Methods that make another text of one."""
_BEGINS = re.compile(r"(?i)(?:cuda|gpu)(?![a-z])")
"""Text of which a device's name may be made: ``"cuda_0".replace("_", ":")``."""
_TAKING_APART = frozenset(
    "split rsplit splitlines partition rpartition strip lstrip rstrip "
    "find rfind index rindex count __contains__ startswith endswith".split()
)


class Syntax:
    """The tree of one file, as far as places are asked about.

    Args:
        file: the file.
        places: all that will be asked about.
        api: identifiers that torch and the packages made for CUDA have.
    """

    def __init__(self, file: PythonFile, places: Iterable[Occurrence], api: AbstractSet[str]) -> None:
        self._file = file
        self._api = api
        source = file.source
        self._nodes: dict[int, list[ast.AST]] = {}
        self._lines = sorted({source.text.line_of(place.start) for place in places})
        source.visit(self._lines, self._collect)

    def _collect(self, node: ast.AST) -> None:
        first: int | None = node.__dict__.get("lineno")
        if first is not None:
            for line in self._lines[bisect_left(self._lines, first) : bisect_right(self._lines, node.end_lineno)]:  # type: ignore[attr-defined]
                self._nodes.setdefault(line, []).append(node)

    def node_at(self, place: Occurrence) -> ast.AST | None:
        """The innermost node around a place."""
        source = self._file.source
        best = None
        for node in self._nodes.get(source.text.line_of(place.start), ()):
            if source.start(node) <= place.start and place.end <= source.end(node):
                best = node
        return best

    def cleared(self, place: Occurrence, node: ast.AST) -> Cleared | None:
        """Why a place needs nothing; None where that is not known."""
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.FormattedValue)):
            return self._string(node)
        word = self._file.source.segment(place.start, place.end)
        if isinstance(node, ast.keyword):
            return self._keyword(word, node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(word, node)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.alias)):
            return self._imported(word, node)
        if isinstance(node, ast.arg):
            return Cleared("own-name", phrase("the parameter {word}", word=word))
        if isinstance(node, _DEFINITIONS):
            return Cleared("own-name", phrase("defined here as {name}", name=node.name))
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            return Cleared("own-name", word)
        return None

    def package_of(self, node: ast.AST) -> str:
        """The package that a name belongs to; empty where it belongs to none."""
        statement = self._file.parent(node) if isinstance(node, ast.alias) else node
        if isinstance(statement, ast.ImportFrom):
            return (statement.module or "").partition(".")[0]
        if isinstance(node, ast.alias):
            return node.name.partition(".")[0]
        call = self._file.parent(node) if isinstance(node, ast.keyword) else None
        named = call.func if isinstance(call, ast.Call) else node
        qualified = self._file.qualname(named) if isinstance(named, (ast.Name, ast.Attribute)) else None
        return qualified.partition(".")[0] if qualified is not None and self._is_foreign(qualified) else ""

    # --- strings ---

    def _string(self, node: ast.Constant | ast.JoinedStr | ast.FormattedValue) -> Cleared | None:
        file = self._file
        whole: ast.expr = node
        parent = file.parent(node)
        while isinstance(parent, (ast.JoinedStr, ast.FormattedValue)):
            whole, parent = parent, file.parent(parent)
        text = file.code(whole)
        if isinstance(parent, ast.Expr):
            return Cleared("docstring")
        if ">>> " in text:
            return Cleared("docstring", phrase("an example in documentation"))
        if _is_help(parent, file):
            # What its option is given may be a device; its help is none.
            return Cleared("message", "help=")
        if isinstance(node, ast.Constant) and node.value == "--cuda" and is_option_asked_for(file.source.data):
            return None
        uses = file.uses(whole)
        if self._is_put_among_modules(whole) or self._is_method_of_unknown(whole):
            return None
        shown = (one for one in uses.destinations if one.use is Use.MESSAGE)
        if _runs_code(node) and all(one.what.endswith(_WRITTEN) for one in shown):
            return None
        if uses.is_no_device:
            first = next((one for one in uses.destinations if one.use in _BY_USE), None)
            if first is not None:
                if first.use is Use.PATH and first.what.endswith("import_module()") and self._names_cuda(whole):
                    return None
                return Cleared(
                    _BY_USE[first.use], phrase("{what} (line {line})", what=first.what, line=first.place.line)
                )
            if uses.is_own:
                return Cleared("own-value", phrase("no function of torch is given it"))
        value = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(value, str):
            return None
        if value.lower() == "gpu" and not self._is_given_away(whole):
            return Cleared("own-value", phrase("torch has no device of this name"))
        if uses.reaches_device:
            return None
        if value in cuda_packages() and not self._is_imported(whole):
            return Cleared("key", phrase("the name of the package {value}, which is not imported here", value=value))
        if _DEVICE_WITHIN.search(value) and (self._is_taken_apart(whole) or self._is_sought(whole)):
            return None
        if _BEGINS.match(value) and self._may_become_device(whole):
            return None
        if "cuda" in value.replace(",", " ").split() and names_fields(whole, file):
            return None
        known = cleared_text(value.encode("utf-8", "surrogatepass"), self._api)
        if known is None and not _DEVICE.fullmatch(value.strip()) and " " in value and not _is_code(value):
            return Cleared("text")
        return known

    def _is_put_among_modules(self, node: ast.expr) -> bool:
        """Whether a text names a module in whose place something is put: ``sys.modules["apex"] = fake``."""
        file = self._file
        parent = file.parent(node)
        if isinstance(parent, ast.Subscript):
            return isinstance(parent.ctx, ast.Store) and file.qualname(parent.value) == "sys.modules"
        call = file.parent(parent) if isinstance(parent, ast.Dict) and node in parent.keys else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
            return False
        holder = call.func.value if call.func.attr == "update" else call.args[0]
        named = isinstance(holder, ast.Constant) and holder.value == "sys.modules"
        return call.func.attr in ("update", "dict") and (named or file.qualname(holder) == "sys.modules")

    def _is_method_of_unknown(self, node: ast.expr) -> bool:
        """Whether ``cuda`` is asked for by its name of an object that may be a tensor, and is no flag of it.

        A flag has something to fall back to, or is what a condition asks for.
        """
        file = self._file
        call = file.parent(node)
        if not isinstance(node, ast.Constant) or node.value != "cuda" or not isinstance(call, ast.Call):
            return False
        if getattr(call.func, "id", "") != "getattr" or len(call.args) not in (2, 3) or call.args[1] is not node:
            return False
        given = call.args[2] if len(call.args) > 2 else None
        if given is not None and not (isinstance(given, ast.Constant) and given.value is None):
            return False
        around = file.parent(call)
        if isinstance(around, (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.If, ast.While, ast.Assert)):
            return False
        if isinstance(around, ast.IfExp) and around.test is call:
            return False
        return not file.values(call.args[0]).is_known

    def _is_sought(self, node: ast.expr) -> bool:
        """Whether a text is held against another one."""
        parent = self._file.parent(node)
        if isinstance(parent, ast.Compare):
            return True
        method = parent.func if isinstance(parent, ast.Call) and node in parent.args else None
        return isinstance(method, ast.Attribute) and method.attr in COMPARING - ADDING

    def _may_become_device(self, node: ast.expr) -> bool:
        """Whether another text is made of one, and nothing says that it is no device."""
        method = self._file.parent(node)
        call = self._file.parent(method) if isinstance(method, ast.Attribute) and method.attr in _MADE_OVER else None
        return isinstance(call, ast.Call) and call.func is method and not self._file.uses(call).is_no_device

    def _is_taken_apart(self, node: ast.expr) -> bool:
        """Whether a text is one that code reads: it is split, or given to a parser of settings."""
        parent = self._file.parent(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr in _TAKING_APART and isinstance(self._file.parent(parent), ast.Call)
        if not isinstance(parent, ast.Call) or node not in parent.args:
            return False
        return (
            parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        ) in _READING

    def _names_cuda(self, node: ast.expr) -> bool:
        """Whether the name of a module that is imported may be that of torch's CUDA, or of a package made for CUDA."""
        file = self._file
        if not isinstance(node, ast.Constant):
            return "torch" in file.code(node)
        name = str(node.value)
        parent = file.parent(node)
        call = file.parent(parent) if isinstance(parent, (ast.Attribute, ast.keyword)) else parent
        if name.startswith(".") and isinstance(call, ast.Call):
            given = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "package")]
            name = f"{given[0].value!s}{name}" if given and isinstance(given[0], ast.Constant) else name
        elif isinstance(parent, ast.Attribute):
            return parent.attr == "format" and "torch" in file.code(parent)
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "format":
            return "torch" in file.code(call)
        root = name.partition(".")[0]
        if file.project.holds(name) or name.startswith("torch.backends."):
            return False
        if root != "torch":
            return root in cuda_packages()
        return name.startswith("torch.cuda") or self._of_torch(name) is None

    def _is_imported(self, node: ast.expr) -> bool:
        """Whether a string is given to something that imports what it names."""
        call = self._file.parent(node)
        return isinstance(call, ast.Call) and _IMPORTS.search(self._file.code(call.func)) is not None

    def _is_given_away(self, node: ast.expr) -> bool:
        """Whether an expression is an argument of a package's function, or of one that is not known."""
        file = self._file
        parent = file.parent(node)
        call = file.parent(parent) if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call):
            return False
        qualified = file.qualname(call.func)
        if qualified is not None:
            return self._is_foreign(qualified)
        return any(value.kind in (Kind.LIBRARY_NAME, Kind.LIBRARY_OBJECT) for value in file.values(call.func))

    # --- names ---

    def _name(self, word: str, node: ast.Name | ast.Attribute) -> Cleared | None:
        file = self._file
        if word == "cuda" and becomes_text(node, file):
            return None
        if isinstance(node, ast.Name):
            qualified = file.qualname(node)
            if qualified is None or not self._is_foreign(qualified):
                return Cleared(
                    "own-name", phrase("bound in this file as {word}", word=word) if qualified is None else qualified
                )
            return self._foreign(qualified)
        qualified = file.qualname(node)
        if qualified is not None and qualified.startswith("torch."):
            return self._of_torch(self._whole_name(node) or qualified)
        values = file.values(node.value)
        if any(value.kind is Kind.HEIR for value in values):
            values = file.values(node.value, Reach.IMPORTS)  # its class stands in another file
        if values.is_known and all(value.kind in _OF_PROJECT and value.kind is not Kind.HEIR for value in values):
            some = next(iter(values), None)
            if some is not None and (some.definition is not None or some.kind is not Kind.INSTANCE):
                return Cleared("own-member", some.name)
        if word not in self._api:
            if qualified is not None and self._is_foreign(qualified):
                return self._foreign(qualified)
            return Cleared("unknown-to-torch", phrase("an attribute {word}", word=word))
        parent = file.parent(node)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        is_flag = not is_called and not isinstance(parent, ast.Attribute) and not values.of_kind(Kind.TORCH_MODULE)
        if is_flag and word in _READ:
            if qualified is None or not self._is_foreign(qualified):
                return Cleared("own-value", phrase("{node} is read, not called", node=file.code(node)))
        if qualified is not None and self._is_foreign(qualified):
            return self._foreign(qualified)
        return None

    def _whole_name(self, node: ast.Attribute) -> str | None:
        """The name that the longest chain around an attribute denotes: that of what is used."""
        parent = self._file.parent(node)
        while isinstance(parent, ast.Attribute):
            node, parent = parent, self._file.parent(parent)
        return self._file.qualname(node)

    def _of_torch(self, qualified: str) -> Cleared | None:
        row = self._file.release.counterpart(qualified)
        if row is not None and row.status == "same":
            return Cleared("works-unchanged", qualified)
        return None

    def _keyword(self, word: str, node: ast.keyword) -> Cleared | None:
        file = self._file
        call = file.parent(node)
        if not isinstance(call, ast.Call):
            return Cleared("own-name", phrase("the argument {word} of a class statement", word=word))
        qualified = file.qualname(call.func)
        if word == "cuda" and getattr(call.func, "id", "") == "dict" and self._are_keys_gone_through(call):
            return None
        if qualified is not None and self._is_foreign(qualified):
            return self._foreign(qualified)
        values = file.values(call.func)
        if any(value.kind is Kind.LIBRARY_NAME for value in values):
            return self._foreign(next(value.name for value in values if value.kind is Kind.LIBRARY_NAME))
        if word in self._api and not values.is_known:
            return None
        return Cleared("own-name", phrase("an argument of {func}()", func=file.code(call.func)[:60]))

    def _are_keys_gone_through(self, made: ast.Call) -> bool:
        """Whether the keys of ``dict(cuda=True)`` become texts: something goes through them."""
        model = self._file.model
        assign = self._file.parent(made)
        target = assign.targets[0] if isinstance(assign, ast.Assign) else None
        nodes: list[ast.AST] = [made]
        if isinstance(target, ast.Name):
            nodes += model.references(target.id)
        for node in nodes:
            parent = model.parent(node)
            if isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys"):
                return True
            if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") in _GOING_THROUGH:
                return True
            if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
                return True
        return False

    # --- imports and packages ---

    def _imported(self, word: str, node: ast.Import | ast.ImportFrom | ast.alias) -> Cleared | None:
        file = self._file
        statement = file.parent(node) if isinstance(node, ast.alias) else node
        if isinstance(statement, ast.ImportFrom):
            if statement.level:
                return Cleared("own-module", phrase("a relative import of {value}", value=statement.module or "."))
            module = statement.module or ""
        elif isinstance(node, ast.alias):
            module = node.name
        else:
            return None
        if file.project.holds(module):
            return Cleared("own-module", module)
        if isinstance(node, ast.alias) and node.asname and word == node.asname != node.name:
            return Cleared("own-name", phrase("the name that {name} gets", name=node.name))
        if has_fallback(node, file) or is_asked_for(node, module, file):
            return Cleared("guarded", module.partition(".")[0])
        if module.partition(".")[0] == "torch":
            name = f"{module}.{word}" if isinstance(statement, ast.ImportFrom) else module
            if module.startswith(("torch.backends", "torch.utils.cpp_extension")) or name == "torch.backends.cudnn":
                return Cleared("works-unchanged", phrase("every build of torch has {name}", name=name))
            return self._of_torch(name)
        return self._foreign(module)

    def _is_foreign(self, qualified: str) -> bool:
        """Whether a qualified name is that of a package that is not the project's own."""
        root = qualified.partition(".")[0]
        return root not in ("", "builtins") and not self._file.project.holds(root)

    def _foreign(self, qualified: str) -> Cleared | None:
        root = qualified.partition(".")[0]
        if root == "torch":
            return self._of_torch(qualified)
        if root in sys.stdlib_module_names:
            return Cleared("other-package", phrase("{root}, of Python's own library", root=root))
        row = dependency(root.replace("_", "-").lower(), self._file.release.torch_npu)
        if row is not None and row.status == "native":
            return Cleared("other-package", phrase("{root}, which runs beside an NPU as it is", root=root))
        return None


def _is_help(parent: ast.AST | None, file: PythonFile) -> bool:
    """Whether a keyword is the help of an option that argparse adds."""
    call = file.parent(parent) if isinstance(parent, ast.keyword) and parent.arg == "help" else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _runs_code(node: ast.expr) -> bool:
    """Whether a string is code that uses CUDA by torch, as for ``exec``, ``python -c`` or ``timeit``."""
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, str) or _TORCH_CODE.search(value) is None:
        return False
    given = _GIVEN_CODE.search(value)
    return _is_code(given["code"] if given is not None else value)


def _is_code(text: str) -> bool:
    """Whether a text is Python code that does more than name something, or code of CUDA."""
    if _CUDA_CODE.search(text):
        return True
    with without_warnings():
        try:
            tree = ast.parse(textwrap.dedent(_FIELD.sub("x", text)))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False
    return any(not isinstance(one, ast.Expr) or isinstance(one.value, (ast.Call, ast.Lambda)) for one in tree.body)
