"""Small local type inference: is this expression a torch tensor or module, or something of the project's own?

It follows annotations, constructors, torch functions and assignments within a file. Anything else is unknown (None).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Binding, Scope

TENSOR = "tensor"
MODULE = "module"
OTHER = "other"
"""Known to be neither tensor nor module; the class is not one of the project."""

_CYCLE = "cycle"
_HOPS = 12
_TENSOR_METHODS = frozenset(
    (
        "abs add argmax argmin bernoulli bfloat16 bmm bool byte clamp clone contiguous cos cpu cuda cumsum detach "
        "div double eq exp expand expand_as fill_ flatten float gather ge gt half index_select int le log "
        "log_softmax long lt masked_fill masked_select matmul max mean min mm mul narrow ne neg new new_empty "
        "new_full new_ones new_tensor new_zeros norm normal_ permute pin_memory pow prod random_ repeat "
        "requires_grad_ reshape round scatter scatter_ short sigmoid sin softmax sort sqrt squeeze std sub sum t "
        "tanh to topk transpose type type_as unfold unique uniform_ unsqueeze var view view_as where zero_"
    ).split()
)
"""Methods whose result is a tensor when the receiver is one; names that other common objects share are left out only
where the receiver is unknown."""

_TENSOR_ONLY_METHODS = frozenset(
    (
        "unsqueeze unsqueeze_ view permute contiguous detach requires_grad_ expand_as masked_fill view_as type_as "
        "log_softmax index_select new_zeros new_ones new_tensor pin_memory bfloat16 half float long squeeze"
    ).split()
)
"""Methods that among common libraries only torch tensors (or modules) have."""

_MODULE_METHODS = frozenset(("cuda cpu to half float double bfloat16 eval train requires_grad_ apply type").split())

_NOT_TENSORS = frozenset(
    (
        "torch.load torch.device torch.save torch.manual_seed torch.Generator torch.get_rng_state torch.is_tensor "
        "torch.no_grad torch.enable_grad torch.compile torch.set_grad_enabled torch.typename"
    ).split()
)


def infer(node: ast.expr, source: PythonSource, scope: Scope | None = None) -> str | None:
    """``tensor``, ``module``, ``other``, the qualified name of a class of the project, or None where unknown."""
    kind = _infer(node, source, scope or source.scope_of(node), _HOPS)
    return None if kind == _CYCLE else kind


def _infer(node: ast.AST | None, source: PythonSource, scope: Scope, hops: int) -> str | None:
    if node is None or hops <= 0:
        return None
    if isinstance(node, ast.Call):
        return _infer_call(node, source, scope, hops - 1)
    if isinstance(node, ast.Name):
        return _infer_name(node.id, source, scope, hops - 1)
    if isinstance(node, ast.Attribute):
        if node.attr in ("data", "grad", "T", "weight", "bias"):
            base = _infer(node.value, source, scope, hops - 1)
            return TENSOR if base in (TENSOR, MODULE) else None
        return _infer_self_attribute(node, source, scope, hops - 1)
    if isinstance(node, ast.Subscript):
        kind = _infer(node.value, source, scope, hops - 1)
        return kind if kind in (TENSOR, _CYCLE) else None
    if isinstance(node, ast.BinOp):
        sides = (_infer(node.left, source, scope, hops - 1), _infer(node.right, source, scope, hops - 1))
        return TENSOR if TENSOR in sides else _CYCLE if _CYCLE in sides else None
    if isinstance(node, ast.Constant) and node.value is None:
        return _CYCLE  # a placeholder says nothing of what comes later
    if isinstance(node, (ast.Constant, ast.JoinedStr, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Compare)):
        return OTHER
    return None


def _infer_name(name: str, source: PythonSource, scope: Scope, hops: int) -> str | None:
    found = scope.lookup(name)
    if found is None:
        return None
    owner, bindings = found
    key = (owner, name)
    if key in source.inferred:
        return source.inferred[key]
    # While the question is open, a binding that leads back here (``x = x.view(1)``) says nothing by itself.
    source.inferred[key] = _CYCLE
    kinds = {_infer_binding(binding, name, source, owner, hops) for binding in bindings} - {_CYCLE}
    answer = kinds.pop() if len(kinds) == 1 else None
    source.inferred[key] = answer
    return answer


def _infer_call(node: ast.Call, source: PythonSource, scope: Scope, hops: int) -> str | None:
    function = node.func
    name = source.qualname(function, scope)
    if name is not None:
        kind = _kind_of_callable(name, source)
        if kind is not None:
            return kind
    if isinstance(function, ast.Attribute):
        base = _infer(function.value, source, scope, hops)
        if base == _CYCLE:
            return _CYCLE
        if base == MODULE and function.attr in _MODULE_METHODS:
            return MODULE
        if base == TENSOR and function.attr in _TENSOR_METHODS:
            return TENSOR
        if base is None and function.attr in _TENSOR_ONLY_METHODS and name is None:
            return TENSOR
    return None


def _kind_of_callable(name: str, source: PythonSource) -> str | None:
    if name in _NOT_TENSORS:
        return OTHER
    if name == "torch.Tensor" or name.startswith(
        ("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")
    ):
        return TENSOR
    head, _, last = name.rpartition(".")
    if head == "torch" and (last[:1].islower() or last.endswith("Tensor")):
        return TENSOR
    if head == "torch.cuda" and last.endswith("Tensor"):
        return TENSOR
    if head.startswith("torch.nn") and last[:1].isupper():
        return TENSOR if last == "Parameter" else MODULE
    if head.startswith(("torchvision.models", "timm")) or name == "timm.create_model":
        return MODULE
    if head == source.module and source.module:
        if any(binding.kind == "class" for binding in source.scope.names.get(last, ())):
            return name
    return source.class_named(name) if source.class_named is not None else None


def _infer_binding(binding: Binding, name: str, source: PythonSource, scope: Scope, hops: int) -> str | None:
    if binding.kind == "assign":
        return _infer(binding.value, source, scope, hops)
    if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
        if binding.node.annotation is not None:
            return kind_of_annotation(binding.node.annotation, source, scope)
        owner = scope.node
        if name == "self" and scope.parent is not None and scope.parent.is_class and not isinstance(owner, ast.Lambda):
            return _kind_of_class(scope.parent.node, source, scope.parent)
    if binding.kind == "import":
        return OTHER
    if binding.kind == "loop" and binding.value is not None:
        return _infer_element(binding.value, source, scope, hops)
    return None


def _infer_element(node: ast.expr, source: PythonSource, scope: Scope, hops: int) -> str | None:
    """The type of the elements of a display, or of a name that is bound to one."""
    if isinstance(node, ast.Name):
        found = scope.lookup(node.id)
        if found is None or len(found[1]) != 1 or found[1][0].kind != "assign" or found[1][0].value is None:
            return None
        scope, node = found[0], found[1][0].value
    if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None
    kinds = {_infer(element, source, scope, hops - 1) for element in node.elts}
    return kinds.pop() if len(kinds) == 1 else None


def kind_of_annotation(annotation: ast.expr, source: PythonSource, scope: Scope) -> str | None:
    """What an annotation says of its parameter, as :func:`infer` answers."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        last = annotation.value.strip("\"' ")
        return (
            TENSOR
            if last in ("torch.Tensor", "Tensor")
            else MODULE
            if last in ("nn.Module", "torch.nn.Module")
            else None
        )
    if isinstance(annotation, ast.BinOp):
        kinds = {kind_of_annotation(side, source, scope) for side in (annotation.left, annotation.right)} - {None}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(annotation, ast.Subscript):
        base = source.qualname(annotation.value, scope)
        if base in ("typing.Optional",) and isinstance(annotation.slice, ast.expr):
            return kind_of_annotation(annotation.slice, source, scope)
        return None
    name = source.qualname(annotation, scope)
    if name in ("torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        return TENSOR
    if name in ("torch.nn.Module", "torch.nn.modules.module.Module"):
        return MODULE
    if name and source.module and name.startswith(source.module + "."):
        return name
    return source.class_named(name) if name and source.class_named is not None else None


def _kind_of_class(node: ast.AST, source: PythonSource, scope: Scope) -> str | None:
    if not isinstance(node, ast.ClassDef):
        return None
    outer = scope.parent or scope
    for base in node.bases:
        name = source.qualname(base, outer) or ""
        if name in ("torch.nn.Module", "torch.nn.modules.module.Module") or name.startswith("torch.nn."):
            return f"{source.module}.{node.name}" if source.module else MODULE
    return f"{source.module}.{node.name}" if source.module else None


def _infer_self_attribute(node: ast.Attribute, source: PythonSource, scope: Scope, hops: int) -> str | None:
    """The type of ``self.name``, from what the methods of the class assign to it."""
    if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
        return None
    current: Scope | None = scope
    while current is not None and not current.is_class:
        current = current.parent
    if current is None or not isinstance(current.node, ast.ClassDef):
        return None
    key = (current, node.attr)
    if key in source.inferred_attributes:
        return source.inferred_attributes[key]
    source.inferred_attributes[key] = _CYCLE
    kinds = set()
    for method, value in _self_assignments(current.node, source).get(node.attr, ()):
        kinds.add(_infer(value, source, source.inner_scope(method), hops))
    kinds.discard(_CYCLE)
    answer = kinds.pop() if len(kinds) == 1 else None
    source.inferred_attributes[key] = answer
    return answer


def assigned_to_self(node: ast.Attribute, source: PythonSource, scope: Scope) -> list[ast.expr]:
    """What the methods of the class around assign to ``self.name``; nothing for an attribute of another object."""
    return [value for value, _ in assigned_with_scopes(node, source, scope)]


def assigned_with_scopes(node: ast.Attribute, source: PythonSource, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """As :func:`assigned_to_self`, each with the scope of the method that assigns it."""
    if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
        return []
    current: Scope | None = scope
    while current is not None and not current.is_class:
        current = current.parent
    if current is None or not isinstance(current.node, ast.ClassDef):
        return []
    assigned = _self_assignments(current.node, source).get(node.attr, ())
    return [(value, source.inner_scope(method)) for method, value in assigned if value is not None]


def _self_assignments(node: ast.ClassDef, source: PythonSource) -> dict[str, list[tuple[ast.AST, ast.expr | None]]]:
    """What the methods of a class assign to each attribute of ``self``, with the method."""
    known = source.self_assignments.get(node)
    if known is None:
        source.methods_revealed(node)
        known = source.self_assignments[node] = {}
        for method in node.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            pending: list[ast.stmt] = list(method.body)
            while pending:
                statement = pending.pop()
                for block in ("body", "orelse", "finalbody", "handlers"):
                    inner = getattr(statement, block, None)
                    if isinstance(inner, list):
                        pending += inner
                for target, value in _stores(statement):
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                        if target.value.id == "self":
                            known.setdefault(target.attr, []).append((method, value))
    return known


def _stores(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What a statement assigns to what; None where the value is not written there."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                yield from ((element, None) for element in target.elts)
            else:
                yield target, statement.value
    elif isinstance(statement, ast.AnnAssign):
        yield statement.target, statement.value
    elif isinstance(statement, (ast.AugAssign, ast.For, ast.AsyncFor)):
        yield statement.target, None
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from ((item.optional_vars, None) for item in statement.items if item.optional_vars is not None)
