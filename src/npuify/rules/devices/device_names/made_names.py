"""Names that a program makes of a device's type: ``getattr(self, f"run_{x.device.type}")``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.devices.device_names.handed_keys import names_of_options_as_devices
from npuify.rules.devices.device_names.held import says_device
from npuify.rules.devices.device_names.looked_up import looked_up_by_type
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Value
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_OF_FILES = re.compile(r"\.(?:json|ya?ml|toml|ini|cfg|conf|txt|csv|py|so|pth?|bin|npy|npz|pkl|onnx)")
_LOOKED_UP = frozenset(("getattr", "hasattr", "setattr"))
_TABLES = frozenset(("globals", "locals", "vars"))
_VARIABLES = frozenset(("os.getenv", "os.environ.get"))
_IMPORTS = frozenset(("importlib.import_module", "__import__"))
_TABLE_CALLS = (b"globals()", b"locals()", b"vars(")
_IMPORT_CALLS = (b"import_module(", b"__import__(")
_PLAIN = re.compile(rb"""\s*(?:"[^"\\\n]*"|'[^'\\\n]*')\s*[,)\]]""")
"""An argument that is a text as it stands."""
_VARIABLE = re.compile(rb"\s*([^\W\d]\w*)\s*[,)\]]")
_ASSIGNS = re.compile(rb"\s*(?::[^=\n]*)?=(?!=)")
_INSIDE = re.compile(rb"[\w.]")
_OWNER = re.compile(rb"\s*[\w.]+\s*,")
"""The first argument of what looks something up, where it is but a name."""
_TABLE_OF = re.compile(rb"[\w.]*\)")
_NOT_LOOKED_INTO = re.compile(rb"\s*(?:[),:=\]}\n]|\.(?!(?:get|items|keys)\b))")
"""What follows a table of names that is neither indexed nor asked for one, nor gone through."""
_LOOKED_INTO = re.compile(rb"[\s)]*(?:\[|\.get[\s)]*\()")


_OF_CLASSES = frozenset(("__name__", "__qualname__", "__module__", "__doc__"))
"""What classes and functions are called, which no device is."""


class _Made(NamedTuple):
    """A text with a device's type in it: the type, and what stands before and behind it where that is known."""

    kind: ast.expr
    before: str | None
    behind: str | None


def _made_of_nothing(lower: bytes, start: int, end: int) -> bool:
    """Whether what is looked up there has a name that is written out, or is a table that nothing is looked up in."""
    called = lower[start:end]
    if not called.endswith(b"(") and called not in _TABLE_CALLS:
        return False
    at = _behind_owner(called, lower, end)
    if at is None:
        return False
    if called in _TABLE_CALLS:
        into = _LOOKED_INTO.match(lower, at)
        if into is None:
            return _NOT_LOOKED_INTO.match(lower, at) is not None
        at = into.end()
    if _PLAIN.match(lower, at) is not None:
        return True
    name = _VARIABLE.match(lower, at)
    return name is not None and not _may_be_assigned(name[1], lower)


def _behind_owner(called: bytes, lower: bytes, end: int) -> int | None:
    """Where it goes on behind what something is looked up in; None where that is more than a name."""
    if called in _IMPORT_CALLS or called.endswith(b")"):
        return end
    owner = (_TABLE_OF if called == b"vars(" else _OWNER).match(lower, end)
    return None if owner is None else owner.end()


def _may_be_assigned(name: bytes, lower: bytes) -> bool:
    """Whether a name may get a value otherwise than as a parameter or in a loop."""
    # A pattern made of the name would be compiled for each name, and looks at every byte.
    at = lower.find(name)
    while at >= 0:
        end = at + len(name)
        if _ASSIGNS.match(lower, end) is not None and (at == 0 or _INSIDE.match(lower, at - 1) is None):
            return True
        at = lower.find(name, end)
    return False


@rule(
    "NPU129",
    "name-made-of-device-type",
    Safety.SAFE,
    Severity.WARNING,
    words=(
        *("getattr(", "hasattr(", "globals()", "locals()", "vars(", "import_module(", "__import__("),
        *("device.type", ").type", ".device)", ".device )", "device).split("),
    ),
    also_in_file=("cuda",),
    common_words=True,
    skip_if=_made_of_nothing,
)
def name_made_of_device_type(
    node: ast.Call | ast.Subscript | ast.Dict | ast.JoinedStr, file: PythonFile
) -> Iterator[Diagnostic]:
    """What is looked up by a name that is made of a device's type is there for ``cuda``.

    Where the program has the name with ``cuda`` and none with ``npu``, that is the one that is looked up.

    Before::

        import torch

        class Layer:
            def run_cuda(self, x: torch.Tensor) -> torch.Tensor:
                return x * 2

            def run(self, x: torch.Tensor) -> torch.Tensor:
                return getattr(self, f"run_{x.device.type}")(x)

    After::

        import torch

        class Layer:
            def run_cuda(self, x: torch.Tensor) -> torch.Tensor:
                return x * 2

            def run(self, x: torch.Tensor) -> torch.Tensor:
                return getattr(self, f"run_{x.device.type.replace('npu', 'cuda')}")(x)
    """
    if isinstance(node, ast.JoinedStr):
        yield from _file_of_type(node, file)
        return
    if not isinstance(node, ast.Dict) and names_of_options_as_devices(node, file):
        yield file.report(
            node,
            "names of options are used as devices here; on an NPU none is called by the name of one",
            safety=Safety.MANUAL,
            subject="cuda",
            advice="call the option npu as well, or choose the device by an if",
        )
        return
    name = _name_in(node, file) if not isinstance(node, ast.Dict) else None
    made = _made(name, file) if name is not None else None
    made_up = _made_up_for_devices(name, file) if name is not None and made is None else None
    if made_up is not None:
        yield made_up
        return
    if made is None:
        yield from looked_up_by_type(node, file, _says_type, _edits)
        return
    surely = says_device(made.kind, file)
    is_known = made.before is not None and made.behind is not None
    whole = f"{made.before}cuda{made.behind}"
    if whole == "is_cuda":
        return  # torch has it for the NPU, too
    names_module = isinstance(node, ast.Call) and file.qualname(node.func) in _IMPORTS
    is_there = file.project.holds if names_module else lambda word: _is_said(word, file)
    has = [is_there(word) for word in (whole, f"{made.before}npu{made.behind}")]
    if is_known and (has[1] or not (has[0] or surely)):
        return
    edits = _edits(made.kind, file) if is_known and has[0] else []
    yield file.report(
        made.kind,
        phrase("a name is made of a device's type here, and the program has {whole} only", whole=whole)
        if edits
        else "a name is made of a device's type here; on an NPU it is another one",
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        subject="cuda",
        advice="" if edits else "see to it that what is looked up is there with npu in its name",
    )


def _made_up_for_devices(name: ast.expr, file: PythonFile) -> Diagnostic | None:
    """A name with a part of something unknown: ``"run_" + str(place).split(":")[0]``.

    Where the program has both the one with ``cuda`` and with ``cpu`` that tells what the part is. On a text that does
    not say ``npu`` the edit does nothing.
    """
    parts = _parts(_written(name, file))
    # Also where its value seems to be known: keys and settings that a program puts together change it.
    taken = [place for place, part in enumerate(parts) if _whole(part) is not part]
    if len(parts) < 2 or len(taken) != 1:
        return None
    at = taken[0]
    before, behind = _text(parts[:at], file), _text(parts[at + 1 :], file)
    if before is None or behind is None:
        return None
    cuda, cpu, npu = (_is_said(f"{before}{word}{behind}", file) for word in ("cuda", "cpu", "npu"))
    if not (cuda and cpu) or npu:
        return None
    edits = _edits(parts[at], file)
    whole = f"{before}cuda{behind}"
    return file.report(
        parts[at],
        phrase("a name is made of a device's type here, and the program has {whole} only", whole=whole),
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        subject="cuda",
        advice="" if edits else "see to it that what is looked up is there with npu in its name",
    )


def _file_of_type(node: ast.JoinedStr, file: PythonFile) -> Iterator[Diagnostic]:
    """``f"{x.device.type}.json"``: a file that is called by a device's type."""
    # Most texts are no such names, by what is written in them; what their parts may be takes long to tell.
    before, behind = node.values[-3:-2], node.values[-1:]
    if not all(isinstance(one, ast.Constant) for one in (*before, *behind)) or len(node.values) < 2:
        return
    if _OF_FILES.fullmatch(_constant(behind[0])) is None or (before and not _constant(before[0]).endswith("/")):
        return
    made = _made(node, file)
    if made is None or made.behind is None or _OF_FILES.fullmatch(made.behind) is None:
        return
    if made.before == "" or (made.before or "").endswith("/"):
        yield file.report(
            made.kind,
            "a file is called by a device's type here; on an NPU it is another one",
            safety=Safety.MANUAL,
            subject="cuda",
            advice="see to it that there is one for the NPU where it is read",
        )


def _constant(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _is_said(name: str, file: PythonFile) -> bool:
    """Whether a file of the project defines this name: ``is_cuda`` is torch's, which has its own word for the NPU."""
    if not name.isidentifier():
        return False
    word = re.compile(rb"\b(?:def|class)\s+%b\b" % name.encode())
    if word.search(file.source.data) is not None:
        return True
    return any(file.project.files_with(f"{how} {name}".encode()) for how in ("def", "class"))


def _name_in(node: ast.Call | ast.Subscript, file: PythonFile) -> ast.expr | None:
    """The text by which something is looked up."""
    if isinstance(node, ast.Subscript):
        function = node.value.func if isinstance(node.value, ast.Call) else None
        return node.slice if isinstance(function, ast.Name) and function.id in _TABLES else None
    if isinstance(node.func, ast.Name) and node.func.id in _LOOKED_UP and len(node.args) > 1:
        return node.args[1]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and isinstance(node.func.value, ast.Call):
        function = node.func.value.func
        return node.args[0] if isinstance(function, ast.Name) and function.id in _TABLES and node.args else None
    return node.args[0] if node.args and file.qualname(node.func) in _IMPORTS else None


def _made(node: ast.expr, file: PythonFile) -> _Made | None:
    """How a text is made of a device's type; None where it is not."""
    parts = _parts(_written(node, file))
    if len(parts) < 2:
        return None  # getattr(torch, x.device.type): what has that name for CUDA has one for the NPU, too
    kinds = [i for i, part in enumerate(parts) if not isinstance(part, ast.Constant) and _says_type(part, file)]
    if len(kinds) != 1:
        return None
    at = kinds[0]
    return _Made(parts[at], _text(parts[:at], file), _text(parts[at + 1 :], file))


def _written(node: ast.expr, file: PythonFile) -> ast.expr:
    """Where a name gets its only value, that value."""
    if not isinstance(node, ast.Name):
        return node
    given = [value for value in file.assigned(node) if value is not None and not isinstance(value, ast.Name)]
    return _written(given[0], file) if len(given) == 1 else node


def _parts(node: ast.expr) -> list[ast.expr]:
    """What a text is put together from."""
    if isinstance(node, ast.JoinedStr):
        return [
            part.value if isinstance(part, ast.FormattedValue) and part.format_spec is None else part
            for part in node.values
        ]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    return _formatted(node) or _joined(node) or [node]


def _formatted(node: ast.expr) -> list[ast.expr]:
    """The parts of ``"run_%s" % kind``; nothing for other expressions."""
    if (
        not isinstance(node, ast.BinOp)
        or not isinstance(node.op, ast.Mod)
        or isinstance(node.right, (ast.Tuple, ast.Dict))
    ):
        return []
    text = node.left.value if isinstance(node.left, ast.Constant) else None
    if not isinstance(text, str) or text.count("%") != 1 or "%s" not in text:
        return []
    before, _, behind = text.partition("%s")
    return [ast.Constant(before), node.right, ast.Constant(behind)]


def _joined(node: ast.expr) -> list[ast.expr]:
    """The parts of ``"_".join(["run", kind])``; nothing for other expressions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "join":
        return []
    between, given = node.func.value, node.args[0] if len(node.args) == 1 else None
    if not isinstance(between, ast.Constant) or not isinstance(given, (ast.List, ast.Tuple)):
        return []
    parts: list[ast.expr] = []
    for part in given.elts:
        parts += [between, part] if parts else [part]
    return parts


def _says_type(node: ast.expr, file: PythonFile) -> bool:
    """Whether a part of a text may be a device's type."""
    if file.plan.of_helper(file.qualname(node)) == "type":
        return False  # an earlier round wrote it for a word of the program's
    # Most are numbers of a loop, which the file alone tells; the whole program takes long to ask.
    values = file.values(node, Reach.FILE)
    if isinstance(node, ast.Call) and not values.is_known and getattr(node.func, "attr", "") == "item":
        return False  # a number of a tensor
    if isinstance(node, ast.Attribute) and not values.is_known:
        if node.attr in _OF_CLASSES:
            return False
        if _is_device_by_name(node):
            return True
    whole = _whole(node)
    # What str() makes is a text, whatever it is made of.
    made_of = values if whole is node else file.values(whole, Reach.FILE)
    if not (values.is_known and made_of.is_known) or made_of.of_kind(Kind.PROJECT_NAME):
        values = file.values(node, Reach.PROGRAM)
        if whole is not node:  # str(…).split(":")[0] is some text, and may be a part of a device's name
            made_of = file.values(whole, Reach.PROGRAM)
            values = made_of if made_of.of_kind(Kind.DEVICE_STRING) else values
    if strings := values.of_kind(Kind.DEVICE_STRING):
        return not values.is_known or len(strings) < len(values) or any(map(_may_be_card, strings))
    is_text = bool(values) and all(value.kind is Kind.STRING and value.name for value in values)
    if (not is_text and file.denotes_device(whole)) or _has_device_as_default(whole, file):
        return True
    # kind = "{}:{}".format("cuda", 1), of which nothing but where it goes tells what it is.
    given = file.assigned(whole) if isinstance(whole, ast.Name) and whole is not node else []
    return any(isinstance(one, ast.Call) and (_says_cuda(one) or file.uses(one).is_used_as_device) for one in given)


def _may_be_card(value: Value) -> bool:
    return not value.name or value.name.startswith(("cuda", "npu"))


def _is_device_by_name(node: ast.Attribute) -> bool:
    """``x.device.type``, whatever ``x`` is."""
    return node.attr == "type" and isinstance(node.value, ast.Attribute) and node.value.attr == "device"


def _says_cuda(node: ast.Call) -> bool:
    """Whether CUDA's word is given to what makes a text: ``"{}:{}".format("cuda", 1)``."""
    given = [*node.args, *(one.value for one in node.keywords)]
    return any(isinstance(one, ast.Constant) and one.value in ("cuda", "npu") for one in given)


def _has_device_as_default(node: ast.expr, file: PythonFile) -> bool:
    """``os.getenv("MY_DEVICE", "cuda")``, of which nothing but the default tells what it is."""
    if not isinstance(node, ast.Call) or len(node.args) != 2:
        return False
    return file.qualname(node.func) in _VARIABLES and bool(
        file.values(node.args[1]).of_kind(Kind.DEVICE, Kind.DEVICE_STRING)
    )


def _whole(node: ast.expr) -> ast.expr:
    """The device of whose name a part is taken: ``device`` in ``str(device).split(":")[0]``."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
    ):
        return _whole(node.value.func.value) if node.value.func.attr in ("split", "partition") else node
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and len(node.args) == 1:
        return _whole(node.args[0])
    return node


def _text(parts: list[ast.expr], file: PythonFile) -> str | None:
    model = file.reaching(Reach.FILE)
    texts = [str(part.value) if isinstance(part, ast.Constant) else model.text(part, file.model) for part in parts]
    return "".join(text for text in texts if text is not None) if None not in texts else None


def _edits(kind: ast.expr, file: PythonFile) -> list[Edit]:
    """The type with CUDA's word for the NPU's; nothing where that cannot be written behind it."""
    if not isinstance(kind, (ast.Attribute, ast.Name, ast.Subscript, ast.Call)):
        return []
    quote = '"'
    for up in file.ancestors(kind):
        if isinstance(up, ast.JoinedStr):
            code = file.code(up)
            if "'" in code and '"' in code:
                return []  # before Python 3.12 an f-string cannot hold the quotes that it stands in
            quote = "'" if '"' in code else '"'
    end = file.source.end(kind)
    words = ", ".join(f"{quote}{word}{quote}" for word in ("npu", "cuda"))
    return [file.edit(end, end, f".replace({words})")]
