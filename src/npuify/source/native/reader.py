"""One file of C++ or CUDA: its functions, what their code uses, and what it hands to Python.

The structure comes from tree-sitter's grammar for CUDA, which takes plain C++ as well, and keeps going where macros or
errors make a part unreadable. Nothing is compiled or preprocessed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from npuify.source.native.file import Binding, Function, NativeFile
from npuify.source.native.registering import registered_operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node

MARKS: Final = {
    "shared": (
        re.compile(rb"__shared__|SharedMemory\s*<|__syncthreads|__syncwarp"),
        (b"__shared__", b"SharedMemory", b"__syncthreads", b"__syncwarp"),
    ),
    "warp": (
        re.compile(
            rb"__shfl|WARP_SHFL|__ballot|__any_sync|__all_sync|__activemask|__match_(?:any|all)|__reduce_\w+_sync"
            rb"|\bwarpSize\b|\bwarp_?[rR]educe\w*|\bWarpReduce\w*|\bblock_?[rR]educe\w*|\bBlockReduce\w*"
            rb"|cub::(?:Block|Warp)|\bcooperative_groups\b|\bcg::"
        ),
        (
            *(b"__shfl", b"WARP_SHFL", b"__ballot", b"__any_sync", b"__all_sync", b"__activemask", b"__match_"),
            *(b"__reduce_", b"warp", b"educe", b"cub::Block", b"cub::Warp", b"cooperative_groups", b"cg::"),
        ),
    ),
    "atomic": (re.compile(rb"\b(?:gpu|fast)?[aA]tomic(?:Add|Max|Min|CAS|Exch|Or|And|Sub|Inc)\w*"), (b"tomic",)),
    "tensor core": (
        re.compile(
            rb"\bwmma::|\bmma_sync\b|\bmma\.|\bwgmma\b|\bldmatrix\b|\bcp\.async|\bcute::|\bcutlass::|\bTiledMma"
        ),
        (b"mma", b"ldmatrix", b"cp.async", b"cute::", b"cutlass::", b"TiledMma"),
    ),
    "assembly": (re.compile(rb"\basm\b\s*(?:volatile)?\s*\("), (b"asm",)),
    "CUDA runtime": (
        re.compile(
            rb"\bcuda(?:Malloc|Memcpy|Memset|Free|Ipc|Launch|Event|Host|Graph|Stream(?:Create|Sync|Wait|Destroy))\w*\s*\("
        ),
        tuple(b"cuda" + word for word in b"Malloc Mem Free Ipc Launch Event Host Graph Stream".split()),
    ),
    "cuBLAS": (re.compile(rb"\bcublas\w*|\bat::cuda::blas::"), (b"cublas", b"cuda::blas")),
    "cuDNN": (re.compile(rb"\bcudnn\w*"), (b"cudnn",)),
    "cuSPARSE": (re.compile(rb"\bcusparse\w*"), (b"cusparse",)),
    "cuSOLVER": (re.compile(rb"\bcusolver\w*"), (b"cusolver",)),
    "cuFFT": (re.compile(rb"\bcufft\w*"), (b"cufft",)),
    "cuRAND": (re.compile(rb"\bcurand\w*|\bPhilox\w*"), (b"curand", b"Philox")),
    "NCCL": (re.compile(rb"\bnccl[A-Z]\w*"), (b"nccl",)),
    "CUB": (re.compile(rb"\bcub::Device\w*"), (b"cub::Device",)),
    "Thrust": (re.compile(rb"\bthrust::"), (b"thrust::",)),
}
"""What the code of a function uses, each with the pattern that shows it, and words without which it cannot match."""

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CALL = re.compile(
    rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;{}()]*(?:<[^<>;{}()]*>[^<>;{}()]*)*>\s*)?(?:<<<|\()|&\s*(?:\w+::)*([A-Za-z_]\w*)"
)
_OPEN_LAUNCH = re.compile(rb"<<[ \t]+<|<[ \t]+<<")
_KERNEL = re.compile(rb"__global__[^;{}=]*?\b([A-Za-z_]\w*)\s*\(")
_BINDING = re.compile(r"^(?:STABLE_)?(PYBIND11_MODULE|TORCH_LIBRARY(?:_FRAGMENT|_IMPL)?|TORCH_LIBRARY_EXPAND)$")
_REGISTERED = re.compile(rb"^[ \t]*REGISTER_(\w+)_IMPL\(\s*(\w+)\s*,(?:\s*(\w+)\s*,)?\s*(\w+)\s*\)", re.MULTILINE)
_THROUGH_MACRO = re.compile(rb"\b[A-Z][A-Z0-9_]{3,}\(\s*([a-z]\w*)\s*[,)]")
_NAMED_KERNEL = re.compile(rb"\b\w*[kK]ernel\w*")
_AUTOGRAD = re.compile(rb"\b(?:class|struct)\s+(\w+)\s*:\s*public\s+(?:\w+::)*Function\s*<[^{};]*>\s*\{")
_APPLIED = re.compile(rb"\b(\w+)::apply\s*\(")
_BLOCK = re.compile(rb"\)\s*(?:const\s*|noexcept\s*|override\s*)*\{")
_HEAD = re.compile(rb"([A-Za-z_]\w*)\s*\Z")
_NOT_CALLS: Final = frozenset(
    "if for while switch return sizeof catch defined static_cast reinterpret_cast const_cast dynamic_cast decltype "
    "noexcept constexpr alignof typeid else new delete throw operator asm __attribute__ template std at torch c10 "
    "TORCH_CHECK AT_ASSERTM AT_CHECK AT_ERROR dim3 float int size_t max min".split()
)


def may_concern(data: bytes) -> bool:
    """Whether a file can be part of an extension of torch, or hold kernels."""
    return any(
        word in data
        for word in (
            b"__global__",
            b"PYBIND11_MODULE",
            b"TORCH_LIBRARY",
            b"torch/",
            b"ATen/",
            b"at::",
            b"torch::",
            b"Tensor",
            b"<<<",
        )
    )


def read_native(data: bytes) -> NativeFile:
    """What a file's text, in any encoding that has ASCII in it, holds. Broken code gives less, and no error."""
    if not may_concern(data):
        return NativeFile()
    functions: dict[tuple[str, int], Function] = {}
    bindings: list[Binding] = []
    marks = _marks_in(data)
    root = _parser().parse(data).root_node
    for node in _definitions(root):
        name, is_binding = _name(node, data)
        if is_binding:
            bindings += _bindings(node, name, data)
        elif name:
            body = node.child_by_field_name("body")
            if body is None:
                continue
            head = data[node.start_byte : body.start_byte]
            line = node.start_point[0] + 1
            function = _function(name, line, b"__global__" in head, data[body.start_byte : body.end_byte], marks)
            functions[name, line] = function
    known = {name for name, _ in functions}
    plain = _COMMENT.sub(lambda match: b"\n" * match.group().count(b"\n"), data)
    for match in _KERNEL.finditer(plain):
        # Where macros hide a kernel's head from the grammar, its body still ends where its braces do.
        kernel = match.group(1).decode()
        if kernel not in known and kernel != "__launch_bounds__":
            text = block_at(plain, match.end())
            if text:
                line = plain.count(b"\n", 0, match.start()) + 1
                functions[kernel, line] = _function(kernel, line, True, text, marks)
    if root.has_error:
        for name, line, text, _ in _by_braces(plain):
            if name not in known and not any(function.name == name for function in functions.values()):
                functions[name, line] = _function(name, line, False, text, marks)
    bindings += registered_operators(root, data)
    functions.update(_autograd_functions(functions.values(), plain))
    registered = tuple(
        (interface.decode(), (key or kind).decode(), implementation.decode())
        for kind, interface, key, implementation in _REGISTERED.findall(plain)
    )
    return NativeFile(tuple(functions.values()), tuple(bindings), registered)


def _autograd_functions(functions: Iterable[Function], plain: bytes) -> Iterator[tuple[tuple[str, int], Function]]:
    """What ``Name::apply`` runs of each class of C++ that is an autograd function: its two methods.

    Args:
        functions: those of the file.
        plain: its text without comments, on the same lines.
    """
    for match in _AUTOGRAD.finditer(plain):
        first = plain.count(b"\n", 0, match.start()) + 1
        last = first + block_at(plain, match.end() - 1).count(b"\n")
        inside = [one for one in functions if first <= one.line <= last and one.name in ("forward", "backward")]
        name = f"{match.group(1).decode()}::apply"
        uses = {use for one in inside for use in one.uses}
        calls = {call for one in inside for call in one.calls}
        yield (name, first), Function(name, first, False, tuple(sorted(uses)), tuple(sorted(calls)))


def defined_functions(data: bytes) -> Iterator[tuple[str, str, int]]:
    """Each function that a file defines: its name, its text from the parameters on, and about where it begins."""
    known: set[str] = set()
    root = _parser().parse(data).root_node
    for node in _definitions(root):
        name, is_binding = _name(node, data)
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
        if name and not is_binding and parameters is not None and body is not None:
            known.add(name)
            text = data[parameters.start_byte : node.end_byte].decode("utf-8", "replace")
            head = _of_template(node, declarator, data) if declarator is not None else ""
            yield name, head + text, parameters.start_byte
    plain = _COMMENT.sub(b" ", data)
    for match in _KERNEL.finditer(plain):
        kernel = match.group(1).decode()
        block = block_at(plain, match.end())
        if kernel not in known and kernel != "__launch_bounds__" and block:
            known.add(kernel)
            start = plain.index(block, match.end())
            whole = plain[match.end() - 1 : start] + block
            yield kernel, whole.decode("utf-8", "replace"), max(0, data.find(kernel.encode()))
    if root.has_error:
        for name, _, _, braced in _by_braces(plain):
            if name not in known:
                yield name, braced.decode("utf-8", "replace"), max(0, data.find(name.encode()))


def _of_template(node: Node, declarator: Node, data: bytes) -> str:
    """The parameters of a function's template, with what stands where they are not given, and of which case."""
    above, inner = node.parent, declarator.child_by_field_name("declarator")
    taken = (
        above.child_by_field_name("parameters") if above is not None and above.type == "template_declaration" else None
    )
    named = data[inner.start_byte : inner.end_byte] if inner is not None else b""
    case = b"<" + named.partition(b"<")[2] if b"<" in named and b"operator" not in named else b""
    text = (data[taken.start_byte : taken.end_byte] if taken is not None else b"") + case
    return text.decode("utf-8", "replace")


@cache
def _parser() -> Any:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


_HOLDERS: Final = frozenset(
    (
        "translation_unit",
        "namespace_definition",
        "declaration_list",
        "template_declaration",
        "linkage_specification",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "ERROR",
        "class_specifier",
        "struct_specifier",
        "field_declaration_list",
        "declaration",
        "expression_statement",
    )
)
"""Nodes that may hold definitions of functions."""


def _definitions(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            yield node
        elif node.type in _HOLDERS:
            pending += reversed(node.named_children)


def _name(node: Node, data: bytes) -> tuple[str, bool]:
    """The name of a defined function, without namespaces; and whether it is a macro that tells of bindings."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None:
        return "", False
    inner = declarator.child_by_field_name("declarator")
    if inner is None:
        return "", False
    text = data[inner.start_byte : inner.end_byte].decode("utf-8", "replace")
    plain = re.sub(r"<.*", "", text.rpartition("::")[2], flags=re.DOTALL).strip()
    return plain, _BINDING.match(plain) is not None


def _marks_in(data: bytes) -> list[tuple[str, re.Pattern[bytes]]]:
    """Those of ``MARKS`` that functions of a file can show: most files hold few, and searching each function costs."""
    return [(mark, pattern) for mark, (pattern, words) in MARKS.items() if any(word in data for word in words)]


def _function(
    name: str, line: int, is_kernel: bool, body: bytes, marks: Sequence[tuple[str, re.Pattern[bytes]]]
) -> Function:
    text = _COMMENT.sub(b" ", body)
    uses = tuple(mark for mark, pattern in marks if pattern.search(text))
    return Function(name, line, is_kernel, uses, _calls(text))


def _calls(text: bytes) -> tuple[str, ...]:
    text = _OPEN_LAUNCH.sub(b"<<<", text)
    names = {(one or other).decode("ascii", "replace") for one, other in _CALL.findall(text)}
    names |= {name.decode("ascii", "replace") for name in _THROUGH_MACRO.findall(text)}
    names |= {f"{name.decode('ascii', 'replace')}::apply" for name in _APPLIED.findall(text)}
    # Kernels are also launched through a pointer to them.
    names |= {name.decode("ascii", "replace") for name in _NAMED_KERNEL.findall(text)}
    return tuple(sorted(names - _NOT_CALLS))


def _bindings(node: Node, macro: str, data: bytes) -> Iterator[Binding]:
    """What ``PYBIND11_MODULE(module, m) { … }`` and the macros of torch's libraries hold."""
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    if parameters is None or body is None:
        return
    given = [data[one.start_byte : one.end_byte].decode("utf-8", "replace") for one in parameters.named_children]
    if len(given) < 2:
        return
    module = given[0] if "PYBIND11" in macro else ""
    library = "" if module else given[0]
    key = given[1] if macro.endswith("_IMPL") and len(given) > 2 else ""
    pending = [body]
    while pending:
        inner = pending.pop()
        pending += reversed(inner.named_children)
        if inner.type != "call_expression":
            continue
        binding = _binding(inner, given[-1], module, library, key, data)
        if binding is not None:
            yield binding


def _binding(call: Node, variable: str, module: str, library: str, key: str, data: bytes) -> Binding | None:
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    called = re.sub(rb"\s", b"", data[function.start_byte : function.end_byte]).decode("utf-8", "replace")
    given = arguments.named_children
    is_class = "class_<" in called and not called.endswith(".def")
    if called in (f"{variable}.def", f"{variable}.impl"):
        name_node, rest = given[:1], given[1:]
    elif is_class and len(given) > 1:
        name_node, rest = given[1:2], given[2:]
    else:
        return None
    if not name_node:
        return None
    name = "".join(
        re.findall(
            r'"((?:[^"\\]|\\.)*)"', data[name_node[0].start_byte : name_node[0].end_byte].decode("utf-8", "replace")
        )
    )
    name = re.split(r"[\s(.]", name.rpartition("::")[2], maxsplit=1)[0]
    if not name:
        return None
    targets: tuple[str, ...] = ()
    written = ""
    if is_class:
        targets = tuple(re.findall(r"class_<\s*(?:\w+::)*(\w+)", called))
    elif rest:
        text = data[rest[0].start_byte : rest[0].end_byte]
        if b"<" in text or rest[0].type == "lambda_expression":
            written = text.decode("utf-8", "replace")
        if rest[0].type == "lambda_expression":
            targets = _calls(text)
        else:
            last = re.findall(r"[A-Za-z_]\w*", re.sub(r"<.*?>", "", text.decode("utf-8", "replace")))
            targets = tuple(last[-1:])
    return Binding(module, library, name, targets, "class" if is_class else key, call.start_point[0] + 1, written)


def _by_braces(data: bytes) -> Iterator[tuple[str, int, bytes, bytes]]:
    """Functions by their looks: a name, what it takes in brackets, and a block. For what the grammar gives up on.

    Yields:
        The name, its line, the block, and the text from the brackets to the end of the block.
    """
    for match in _BLOCK.finditer(data):
        depth, at = 0, match.start()
        while at >= 0 and match.start() - at < 4000:
            depth += {41: 1, 40: -1}.get(data[at], 0)
            if not depth:
                break
            at -= 1
        before = data[max(0, at - 120) : at] if at >= 0 else b""
        head = _HEAD.search(before)
        name = head.group(1).decode() if head else ""
        if head is None or name in _NOT_CALLS or _BINDING.match(name):
            continue
        start = at - len(before) + head.start(1)
        line_start = data.rfind(b"\n", 0, start) + 1
        if start > line_start and not data[line_start:start].strip():
            # Indented and without a type before it: a call with a block, not a definition.
            continue
        text = block_at(data, match.end() - 1)
        if text:
            yield name, data.count(b"\n", 0, start) + 1, text, data[at : match.end() - 1] + text


def block_at(data: bytes, at: int) -> bytes:
    """The block in braces that follows ``at``, or nothing where a declaration ends first."""
    start = data.find(b"{", at)
    end = data.find(b";", at)
    if start < 0 or 0 <= end < start:
        return b""
    depth = 0
    for match in re.finditer(rb"[{}]", data[start : start + 200_000]):
        depth += 1 if match.group() == b"{" else -1
        if not depth:
            return data[start : start + match.end()]
    return data[start : start + 20_000]
