"""Options and variables by which a program that supports several kinds of device chooses one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.rules.common.defaults.options import called_name, destinations, text_of

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource

_DEVICE: Final = re.compile(r"(?i)(?:.*[-_])?(?:device|accelerator)(?:[-_](?:type|name|kind))?")
_USE_NPU: Final = re.compile(r"(?i)(?:.*[-_])?npu(?:[-_].*)?")
_DECLARING: Final = frozenset(("add_argument", "add_option", "option", "DEFINE_string", "DEFINE_enum"))
_READING: Final = frozenset(("os.environ.get", "environ.get", "os.getenv", "getenv"))
_READERS: Final = frozenset(name.rpartition(".")[2] for name in _READING)
_CUDA: Final = re.compile(r"""["'](?:cuda(?::\d+)?|gpu)["']""")


_MAY_DECLARE: Final = re.compile(
    rb"""(?:(?:add_argument|add_option|option|DEFINE_\w+|environ\.get|getenv)\(\s*"""
    rb"""(?:["'][-\w]*["']\s*,\s*)*|\bdest\s*=\s*)["'][-\w]*(?:device|accelerator|npu)""",
    re.IGNORECASE,
)
_DECLARING_WORDS: Final = (b"add_argument", b"add_option", b"option(", b"DEFINE_", b"environ.get", b"getenv", b"dest")
_FIELD: Final = re.compile(rb"^[ \t]*\w*(?:device|accelerator)\w*[ \t]*:[ \t]*str\b", re.IGNORECASE | re.MULTILINE)


class DeviceOption(NamedTuple):
    """An option or variable that chooses the device."""

    start: str
    """What is to be said for an NPU: ``--device npu``, or ``DEVICE=npu`` in the environment."""
    default: ast.expr | None
    """What it is where nothing is said."""
    line: int
    is_flag: bool = False


def may_choose_device(raw: bytes) -> bool:
    """Whether a file's text may declare such an option or read such a variable; parsing it takes longer."""
    for word in _DECLARING_WORDS:
        at = raw.find(word)
        while at >= 0:
            # A pattern with so many beginnings takes ten times as long to find them.
            if _MAY_DECLARE.match(raw, at):
                return True
            at = raw.find(word, at + 1)
    return b"dataclass" in raw and any(match[0][:1] in b" \t" for match in _FIELD.finditer(raw))


def left_on_cpu(source: PythonSource, word: str) -> list[DeviceOption]:
    """Those with which a program that is written for CUDA computes on the CPU where nothing is said.

    Args:
        source: a file.
        word: what the migrated program calls the device.
    """
    nodes: list[ast.AST] = []
    source.visit(source.lines_with_names(_DECLARING), nodes.append)
    found = []
    for node in nodes:
        if isinstance(node, ast.Call) and called_name(node) in _DECLARING:
            option = _declared(node, "cuda")
            if option is not None and not option.is_flag and text_of(option.default) == "cpu":
                found.append(option._replace(start=f"{option.start.removesuffix('npu')}{word}"))
    return sorted(found, key=lambda one: one.line)


def device_options(source: PythonSource) -> list[DeviceOption]:
    """Those that a file declares and that take an NPU, in order of place."""
    nodes: list[ast.AST] = []
    fields = {source.text.line_of(match.start()) for match in _FIELD.finditer(source.data)}
    source.visit(source.lines_with_names(_DECLARING | _READERS) | fields, nodes.append)
    found = [option for node in nodes if (option := _option(node)) is not None]
    return sorted(found, key=lambda one: one.line)


def without(option: DeviceOption, code: str) -> str:
    """What happens where an option is not given, as the end of a sentence; empty where its default is an NPU.

    Args:
        option: the option.
        code: its default, as it is written; empty where there is none.
    """
    if option.is_flag:
        return "the program does not use the NPU"
    if "npu" in code.lower():
        return ""
    if _CUDA.search(code):
        if "is_available" in code:
            return "the program runs on the CPU"
        return phrase("the program asks for {code}, which a machine with NPUs does not have", code=code)
    return "the program runs on the CPU" if re.fullmatch(r"[\"']cpu[\"']", code) else "the program chooses by itself"


def is_device_default(node: ast.AST, file: PythonFile) -> bool:
    """Whether a node stands in the default of such an option."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.Call, ast.AnnAssign)):
            option = _option(up)
            if option is not None and option.default is not None and _within(current, option.default):
                return True
        if isinstance(up, ast.stmt):
            return False
        current = up.value if isinstance(up, ast.keyword) else up
    return False


def _within(node: ast.AST, whole: ast.AST) -> bool:
    return node is whole or any(one is node for one in ast.walk(whole))


def _option(node: ast.AST) -> DeviceOption | None:
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in _DECLARING:
            return _declared(node)
        if name in _READERS and ast.unparse(node.func) in _READING:
            return _variable(node)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _DEVICE.fullmatch(node.target.id):
        # A field of a dataclass; its parser says which spelling it takes, all take this one.
        is_text = isinstance(node.annotation, ast.Name) and node.annotation.id == "str"
        return DeviceOption(f"--{node.target.id} npu", node.value, node.lineno) if is_text and node.value else None
    return None


def _declared(call: ast.Call, kind: str = "npu") -> DeviceOption | None:
    given = {one.arg: one.value for one in call.keywords}
    names = destinations(call) or [text_of(one) for one in call.args[:1]]
    name = next((one for one in names if _DEVICE.fullmatch(one) or _USE_NPU.fullmatch(one)), "")
    spelling = next((text for one in call.args if (text := text_of(one)).startswith("--")), f"--{name}")
    if _USE_NPU.fullmatch(name) and text_of(given.get("action")) == "store_true":
        return DeviceOption(spelling, None, call.lineno, is_flag=True)
    choices = given.get("choices")
    texts = [text_of(one) for one in getattr(choices, "elts", ())]
    if not _DEVICE.fullmatch(name) or "action" in given or (texts and not {kind, "npu"}.intersection(texts)):
        return None
    if "type" in given and ast.unparse(given["type"]) in ("int", "bool", "float"):
        return None
    is_flag = called_name(call).startswith("DEFINE") and len(call.args) > 1
    return DeviceOption(f"{spelling} npu", call.args[1] if is_flag else given.get("default"), call.lineno)


def _variable(call: ast.Call) -> DeviceOption | None:
    name = text_of(call.args[0]) if call.args else ""
    if not name or not (_DEVICE.fullmatch(name) or re.fullmatch(r"(?:\w+_)?(?:USE|ENABLE)_NPU", name)):
        return None
    default = call.args[1] if len(call.args) > 1 else None
    return DeviceOption(f"{name}={'npu' if _DEVICE.fullmatch(name) else '1'}", default, call.lineno)
