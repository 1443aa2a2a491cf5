"""Methods and attributes that tensors and modules have: ``.cuda()``, ``.is_cuda``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.library.lookup import result_of
from npuify.analysis.values import MODELS, STRINGS, Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.cuda_builds import opens_cuda_build
from npuify.rules.common.edits.statements import needs_parentheses
from npuify.rules.common.paddle import is_of_paddle
from npuify.rules.common.refusals import opens_refusal, refused_test
from npuify.rules.common.scripted import in_script
from npuify.rules.devices.own_cuda import may_be
from npuify.rules.registry import rule
from npuify.source.python import STANDS_FOR_ASYNC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Value
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_KNOWN = ("torch.Tensor.", "torch.nn.Module.", "torch.nn.modules.module.Module.")


Verdict = tuple[Safety | None, str]


def receiver(node: ast.Attribute, file: PythonFile) -> Verdict:
    """How sure it is that ``node.value`` is a torch object: a safety, or None where it is known not to be; and why."""
    name = file.qualname(node)
    if name is not None:
        if name.startswith(_KNOWN):
            return Safety.SAFE, ""
        base = file.qualname(node.value) or ""
        if not base.startswith("torch.") or base == "torch":
            return _of_named(node, base, file)
    if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
        return _of_super(node, file)
    if isinstance(node.value, ast.Call) and result_of(file.qualname(node.value.func) or "") in (Kind.TENSOR, *MODELS):
        return Safety.SAFE, ""  # by far the most calls are of torch's own functions and classes
    return of_expression(node.value, node.attr, file, called=_is_called(node, file))


def of_expression(node: ast.expr, attribute: str, file: PythonFile, *, called: bool) -> Verdict:
    """How sure it is that an expression, whose ``attribute`` is asked for, is a torch object; as above."""
    verdicts = {_of_value(value, attribute, file) for value in file.values(node) if value.kind is not Kind.NONE}
    if len(verdicts) == 1 and _UNTOLD not in verdicts:
        return verdicts.pop()
    own = may_be(node, attribute, file, called=called)
    if not own:
        return Safety.SAFE, ""
    values = file.values(node, Reach.IMPORTS)
    if {_of_value(value, attribute, file) for value in values if value.kind is not Kind.NONE} == {_NO_TORCH}:
        return _NO_TORCH
    named = ", ".join(sorted({item.qualified.rpartition(".")[2] for item in own})[:3])
    return Safety.REVIEW, phrase(
        "; this project's {named} defines its own {attribute}, and the object may be one",
        named=named,
        attribute=attribute,
    )


def _is_called(node: ast.Attribute, file: PythonFile) -> bool:
    parent = file.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _inside_override(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place belongs to a method that overrides ``cuda``, its decorators included."""
    return _override(node, file) is not None


def _override(node: ast.AST, file: PythonFile) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    return next(
        (
            up
            for up in file.ancestors(node)
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and up.name == "cuda"
        ),
        None,
    )


_UNTOLD: Verdict = Safety.REVIEW, "; the object's type is unknown"
_NO_TORCH: Verdict = None, ""
_NOTHING_OF_TORCH = frozenset((*STRINGS, Kind.NUMBER, Kind.CONTAINER, Kind.DEVICE, Kind.TORCH_MODULE, Kind.MODULE))
_CLASSES = frozenset((Kind.INSTANCE, Kind.HEIR, *MODELS))


def _of_super(node: ast.Attribute, file: PythonFile) -> Verdict:
    """What is known of a member of ``super()``: in a ``cuda`` of the program's own, it may be one of its own, too."""
    override = _override(node, file)
    holder = file.parent(override) if override is not None else None
    if not isinstance(holder, ast.ClassDef):
        return Safety.SAFE, ""
    own = {item.qualified for item in file.project.own_cuda if node.attr in item.methods}
    named = [name for name in map(file.qualname, holder.bases) if name is not None]
    if any(_inherits(file.project.class_named(name) or name, own, file) for name in named):
        return _NO_TORCH
    known = len(named) == len(holder.bases) and all(name.startswith("torch.") for name in named)
    return (Safety.SAFE, "") if known else _UNTOLD


def _of_value(value: Value, attribute: str, file: PythonFile) -> Verdict:
    """What is known of a member of one value."""
    if value.kind in _CLASSES and value.name and (value.definition is not None or value.kind is Kind.HEIR):
        own = {item.qualified for item in file.project.own_cuda if attribute in item.methods | item.attributes}
        return _NO_TORCH if own and _inherits(value.name, own, file) else (Safety.SAFE, "")
    if value.kind is Kind.TENSOR or value.kind in MODELS:
        return Safety.SAFE, ""
    return _NO_TORCH if value.kind in _NOTHING_OF_TORCH else _UNTOLD


def _of_named(node: ast.Attribute, base: str, file: PythonFile) -> Verdict:
    """What is known of a member of something that has a dotted name: of a module, a class, a function, or a library."""
    values = file.values(node.value, Reach.IMPORTS)
    if all(value.kind is Kind.LIBRARY_NAME for value in values):
        # What a package itself has under this name is its own; what one of its objects has is not known.
        return _NO_TORCH if "." not in base or not _is_called(node, file) else _UNTOLD
    verdicts = {_of_value(value, node.attr, file) for value in values if value.kind is not Kind.NONE}
    return verdicts.pop() if len(verdicts) == 1 else _UNTOLD


def _inherits(name: str, owners: set[str], file: PythonFile, depth: int = 6) -> bool:
    """Whether a class of the project is one of ``owners``, or derives from one."""
    if name in owners:
        return True
    if depth == 0:
        return False
    module, _, last = name.rpartition(".")
    relative = file.project.file_of(module)
    source = file.source if module == file.source.module else file.project.load(relative) if relative else None
    definition = source.definition(last) if source is not None else None
    if source is None or not isinstance(definition, ast.ClassDef):
        return False
    bases = [source.qualname(base, source.scope) for base in definition.bases]
    named = [file.project.class_named(base) or base for base in bases if base is not None]
    return any(_inherits(base, owners, file, depth - 1) for base in named)


@rule("NPU110", "cuda-method", Safety.SAFE, words=("cuda",), names=("cuda",))
def cuda_method(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``.cuda()`` moves a tensor or module to a CUDA device; ``.npu()`` moves it to an NPU.

    Objects known to be something else, and those of a project class that defines ``cuda`` itself, are left alone. Where
    the project has such a class and the object's type is unknown, the edit needs review.

    Before::

        import torch
        model = torch.nn.Linear(2, 2).cuda()
        data = torch.zeros(2).cuda(0, non_blocking=True)

    After::

        import torch
        import torch_npu  # noqa: F401
        model = torch.nn.Linear(2, 2).npu()
        data = torch.zeros(2).npu(0, non_blocking=True)
    """
    if is_of_paddle(file):
        return  # its tensors have methods of their own
    name = file.qualname(node)
    if node.attr != "cuda" or not (isinstance(node.ctx, ast.Load) or (name or "").startswith(_KNOWN)):
        return
    parent = file.parent(node)
    called = _is_called(node, file)
    if name == "torch.cuda" or (not called and (_inside_override(node, file) or _is_replaced(node, file))):
        return
    if not called and not (name or "").startswith(_KNOWN) and not _beside_cpu(node, file):
        values = file.values(node.value)
        if not values.only(Kind.TENSOR, *MODELS) or any(value.definition is not None for value in values):
            return
    if called and isinstance(parent, ast.Call):
        if len(parent.args) > 2 or any(
            keyword.arg not in ("device", "non_blocking", STANDS_FOR_ASYNC, "memory_format", None)
            for keyword in parent.keywords
        ):
            return
    if called and in_script(node, file):
        yield from _to_npu(node, file)
        return
    yield from _renamed(node, "npu", ".cuda() is .npu() on the NPU", file)


def _to_npu(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``x.cuda()`` in a function that TorchScript compiles, which knows no method ``npu``."""
    safety, why = receiver(node, file)
    call, span = file.parent(node), file.source.attribute_span(node)
    if safety is None or not isinstance(call, ast.Call):
        return
    plain = span is not None and not call.args and not call.keywords
    yield file.report(
        node,
        phrase(".cuda() does not reach the NPU, and TorchScript knows no .npu(){why}", why=why),
        edits=[file.edit(span[0], file.source.end(call), 'to("npu")')] if plain and span is not None else (),
        safety=safety if plain else Safety.MANUAL,
        subject="torch.Tensor.cuda",
        advice="" if plain else 'write .to("npu") with its arguments',
        needs_torch_npu=True,
    )


def _renamed(node: ast.Attribute, new: str, message: str, file: PythonFile) -> Iterator[Diagnostic]:
    """The finding about a member that the NPU calls ``new``; none where the object is known to be no torch object."""
    safety, why = receiver(node, file)
    if safety is None:
        return
    edit = file.rename_attribute(node, new)
    yield file.report(
        node,
        phrase("{message}{why}", message=message, why=why),
        edits=[edit] if edit else (),
        safety=safety,
        subject=f"torch.Tensor.{node.attr}",
        advice="" if edit else phrase("write .{new} here; this spelling cannot be edited in place", new=new),
        needs_torch_npu=True,
    )


def _beside_cpu(node: ast.Attribute, file: PythonFile) -> bool:
    """Whether a method is taken that is not called yet: ``move = x.cuda if on_gpu else x.cpu``."""
    choice = file.parent(node)
    if not isinstance(choice, ast.IfExp) or node is choice.test:
        return False
    other = choice.orelse if node is choice.body else choice.body
    return isinstance(other, ast.Attribute) and other.attr == "cpu" and file.code(other.value) == file.code(node.value)


def _is_replaced(node: ast.Attribute, file: PythonFile) -> bool:
    """Whether the statement stores a new ``cuda`` into an object: ``model.cuda = wrap(model.cuda)``."""
    for up in file.ancestors(node):
        if isinstance(up, ast.Assign):
            return any(
                isinstance(target, ast.Attribute)
                and target.attr == "cuda"
                and not (file.qualname(target) or "").startswith(_KNOWN)
                for target in up.targets
            )
    return False


@rule("NPU111", "is-cuda", Safety.SAFE, words=("is_cuda",), names=("is_cuda",))
def is_cuda(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``.is_cuda`` is false for tensors on an NPU; ``.is_npu`` is its counterpart.

    Before::

        import torch
        def place(x: torch.Tensor) -> str:
            return "card" if x.is_cuda else "host"

    After::

        import torch
        import torch_npu  # noqa: F401
        def place(x: torch.Tensor) -> str:
            return "card" if x.is_npu else "host"
    """
    if is_of_paddle(file):
        return  # its tensors have methods of their own
    if (file.qualname(node) or "").startswith("vllm."):
        return  # a question to vLLM's platform
    if node.attr != "is_cuda" or not isinstance(node.ctx, ast.Load) or opens_cuda_build(node, file):
        return
    if opens_refusal(node, file):
        yield refused_test(node, file, "torch.Tensor.is_cuda", is_replaced=True)
        return
    if in_script(node, file) and file.rename_attribute(node, "is_npu") is not None:
        yield from _by_type(node, file)
        return
    yield from _renamed(node, "is_npu", ".is_cuda is false on the NPU; use .is_npu", file)


def _by_type(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``x.is_cuda`` in a function that TorchScript compiles, which knows no ``is_npu``."""
    safety, why = receiver(node, file)
    beside = file.parent(node)
    others = beside.values if isinstance(beside, ast.BoolOp) and isinstance(beside.op, ast.Or) else ()
    if safety is None or any(file.code(one) == f'{file.code(node.value)}.device.type == "npu"' for one in others):
        return
    test = f'{file.code(node.value)}.device.type == "npu"'
    yield file.report(
        node,
        phrase(".is_cuda is false on the NPU, and TorchScript knows no .is_npu{why}", why=why),
        edits=[file.replace(node, f"({test})" if needs_parentheses(node, file) else test)],
        safety=safety,
        subject="torch.Tensor.is_cuda",
        needs_torch_npu=True,
    )


_OTHER_RUNTIME = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:(?:import|from)[ \t]+(?:cupy|numba\.cuda|pycuda)\b"
    rb"|from[ \t]+numba[ \t]+import[^\r\n]*\bcuda\b)"
)


@rule(
    "NPU114",
    "stream-handle",
    Safety.REVIEW,
    words=("cuda_stream", "cuda_event"),
    source="torch_npu/npu/streams.py",
)
def stream_handle(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``.cuda_stream`` and ``.cuda_event`` are the raw handles of a stream and an event.

    An NPU stream has ``.npu_stream``; the code that receives the handle must also work with the NPU's runtime.

    Before::

        import torch
        handle = torch.cuda.current_stream().cuda_stream

    After::

        import torch
        import torch_npu  # noqa: F401
        handle = torch.npu.current_stream().npu_stream
    """
    if node.attr not in ("cuda_stream", "cuda_event") or not isinstance(node.ctx, ast.Load):
        return
    name = file.qualname(node)
    if name is not None and not name.startswith("torch."):
        return
    new = node.attr.replace("cuda", "npu")
    edit = file.rename_attribute(node, new)
    if _OTHER_RUNTIME.search(file.source.data) is not None:
        edit = None  # CuPy, numba and PyCUDA take CUDA's handles, whatever they are called
    yield file.report(
        node,
        phrase(".{attr} is .{new} on the NPU, a handle of a different runtime", attr=node.attr, new=new),
        edits=[edit] if edit else [],
        subject=f"torch.cuda.Stream.{node.attr}",
        advice="check the code that receives the handle: it must be built for the NPU",
        needs_torch_npu=True,
    )


@rule("NPU112", "own-cuda-method", Safety.MANUAL, Severity.WARNING, words=("cuda",))
def own_cuda_method(node: ast.FunctionDef, file: PythonFile) -> Iterator[Diagnostic]:
    """A torch module or tensor class overrides ``cuda``: ``.npu()`` bypasses the override.

    The class and its users are left unchanged.
    """
    if node.name != "cuda" or not isinstance(file.parent(node), ast.ClassDef):
        return
    holder = file.parent(node)
    assert isinstance(holder, ast.ClassDef)
    qualified = f"{file.source.module}.{holder.name}"
    for own in file.project.defines("cuda", called=True, seen_from=file.source.relative):
        if own.qualified == qualified and own.is_torch:
            start = file.source.start(node)
            yield file.report(
                (start, start + len("def cuda")),
                phrase("{name} overrides cuda(); .npu() of torch_npu does not call it", name=holder.name),
                subject="torch.nn.Module.cuda",
                advice="add a method npu() that does the same for the NPU, and call that",
            )
