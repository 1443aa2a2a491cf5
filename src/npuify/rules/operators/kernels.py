"""Functions whose operators the release has no kernel for: they run on the CPU, or one tensor at a time."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.pytorch.functions import lack_of, without_kernel
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.operators.distributions import DISTRIBUTIONS, distribution, needs_operator
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_OPERATORS: Final[dict[str, tuple[str, ...]]] = {
    "linalg.eig": ("linalg_eig",),
    "linalg.eigvals": ("linalg_eigvals", "linalg_eig"),
    "linalg.eigh": ("linalg_eigh", "_linalg_eigh"),
    "linalg.eigvalsh": ("linalg_eigvalsh", "_linalg_eigh"),
    "linalg.cholesky": ("linalg_cholesky", "linalg_cholesky_ex"),
    "linalg.cholesky_ex": ("linalg_cholesky_ex",),
    "linalg.inv": ("linalg_inv", "linalg_inv_ex"),
    "linalg.inv_ex": ("linalg_inv_ex",),
    "linalg.solve": ("linalg_solve", "linalg_solve_ex", "_linalg_solve_ex"),
    "linalg.det": ("linalg_det", "_linalg_det"),
    "linalg.slogdet": ("linalg_slogdet", "_linalg_slogdet"),
    "linalg.lu": ("linalg_lu",),
    "linalg.lu_factor": ("linalg_lu_factor", "linalg_lu_factor_ex"),
    "linalg.lu_solve": ("linalg_lu_solve",),
    "linalg.matrix_exp": ("linalg_matrix_exp",),
    "linalg.householder_product": ("linalg_householder_product",),
    "cholesky": ("cholesky",),
    "cholesky_inverse": ("cholesky_inverse",),
    "det": ("det", "linalg_det", "_linalg_det"),
    "logdet": ("logdet", "_linalg_slogdet"),
    "matrix_exp": ("matrix_exp", "linalg_matrix_exp"),
    "lgamma": ("lgamma",),
    "digamma": ("digamma",),
    "polygamma": ("polygamma",),
    "igamma": ("igamma",),
    "special.gammaln": ("special_gammaln", "lgamma"),
    "special.digamma": ("special_digamma", "digamma"),
    "special.i0": ("special_i0", "i0"),
    "special.i0e": ("special_i0e",),
    "special.i1": ("special_i1",),
    "special.ndtri": ("special_ndtri",),
    "special.log_ndtr": ("special_log_ndtr",),
    "special.erfcx": ("special_erfcx",),
    "special.entr": ("special_entr",),
    **{f"distributions.{name}": (operator,) for name, (operator, _) in DISTRIBUTIONS.items()},
    "linalg.lstsq": ("linalg_lstsq",),
    "linalg.ldl_factor": ("linalg_ldl_factor", "linalg_ldl_factor_ex"),
    "linalg.ldl_solve": ("linalg_ldl_solve",),
    "lu_unpack": ("lu_unpack",),
    "geqrf": ("geqrf",),
    "ormqr": ("ormqr",),
    "hypot": ("hypot",),
    "copysign": ("copysign",),
    "heaviside": ("heaviside",),
    "nextafter": ("nextafter",),
    "frexp": ("frexp",),
    "fmax": ("fmax",),
    "fmin": ("fmin",),
    "histogram": ("histogram",),
    "igammac": ("igammac",),
    "mvlgamma": ("mvlgamma",),
    "poisson": ("poisson",),
    "binomial": ("binomial",),
    "segment_reduce": ("segment_reduce",),
    "special.xlog1py": ("special_xlog1py",),
    "special.zeta": ("special_zeta",),
    "special.i1e": ("special_i1e",),
    "nn.functional.huber_loss": ("huber_loss",),
    "nn.functional.multi_margin_loss": ("multi_margin_loss",),
    "nn.functional.fractional_max_pool2d": ("fractional_max_pool2d",),
    "nn.functional.fractional_max_pool3d": ("fractional_max_pool3d",),
}
"""Public name → the ATen operators that lead to its kernel; a kernel for any one of them is enough.

The first is what the call itself dispatches to; the second what torch's own, composite form of it calls (recorded
from calls of torch on a CPU). Functions whose parts are all composite, or that have a kernel in every release, are
left out on purpose.
"""
_BEHIND: Final = {f"torch.{name}": either for name, either in _OPERATORS.items()}
_LACKED = without_kernel()
_METHODS = frozenset(name.removeprefix("torch.Tensor.") for name in _LACKED if name.startswith("torch.Tensor.")) | set(
    "lgamma digamma polygamma igamma cholesky_inverse logdet matrix_exp copysign heaviside nextafter frexp "
    "index_reduce cauchy_ geometric_ log_normal_ geqrf ormqr logcumsumexp nonzero_static".split()
)
_OF_OTHERS = frozenset("cholesky det fmax fmin histogram inverse istft lcm logdet logit lu mode to_sparse".split())
"""Of these, what objects of other libraries have, too: there the object has to be known."""
_MODULES = {
    "torch.nn.HuberLoss": "torch.nn.functional.huber_loss",
    "torch.nn.MultiMarginLoss": "torch.nn.functional.multi_margin_loss",
    "torch.nn.FractionalMaxPool2d": "torch.nn.functional.fractional_max_pool2d",
    "torch.nn.FractionalMaxPool3d": "torch.nn.functional.fractional_max_pool3d",
}
"""Module of torch.nn → the function that it calls."""
_WORDS_BEHIND = (
    *(f"from torch{form}" for form in (" import", ".linalg import", ".special import")),
    "torch.distributions",
    "torch import distributions",
    *(f".{name}(" for name in sorted(_METHODS)),
    *(name.lower() for name in _BEHIND if not name.startswith(("torch.distributions", "torch.nn."))),
    *(name.rpartition(".")[2].lower() for name in (*_BEHIND, *_MODULES) if name.startswith("torch.nn.")),
    *(name.lower() for name in _LACKED if name.startswith("torch.") and "Tensor." not in name),
    # Known for the releases that were asked; a list of kernels does not tell what these lead to.
    "torch.mode(",
    # Names that the file calls otherwise, of which it is searched here.
    *(f"import {module} as" for module in ("torch", "torch.linalg", "torch.special")),
    "ops.aten.",
)
_FUNCTIONS = frozenset(
    name.removeprefix("torch.").encode()
    for name in (*_BEHIND, *_LACKED, "torch.mode")
    if name.startswith("torch.") and "Tensor." not in name and not name.startswith("torch.nn.")
)
_NAME = re.compile(rb"[\w.]+")
_TAKEN_NAMES = re.compile(rb"\s*(\([^)]*\)|[^\n\\]*(?:\\\s*\n[^\n\\]*)*)")


_NUMBERS = re.compile(rb"\b(?:math|np|numpy)\Z")


def _without_operator(lower: bytes, start: int, end: int) -> bool:
    """Whether a method's word is a function of Python's or NumPy's instead, or a name that is taken from torch leads to
    no function of the table; see ``npuify.rules.text_checks``.
    """
    if lower.startswith(b"from torch import", start):
        taken = _TAKEN_NAMES.match(lower, end)
        return taken is None or _TAKEN_FROM_TORCH.isdisjoint(_NAME.findall(taken[1]))
    if lower.endswith(b" as", start, end):
        name = _NAME.match(lower, end + 1)
        return name is None or not _is_held(lower, name[0], lower[start:end].split()[-2])
    return lower[start : start + 1] == b"." and _NUMBERS.search(lower, max(start - 8, 0), start) is not None


_LOWER_FUNCTIONS = frozenset(name.lower() for name in _FUNCTIONS)
_TAKEN_FROM_TORCH = _LOWER_FUNCTIONS | {b"linalg", b"special", b"distributions"}


def _is_held(lower: bytes, name: bytes, module: bytes) -> bool:
    """Whether a text says a function of the table by ``name``, which it calls ``module`` by."""
    within = module.removeprefix(b"torch").removeprefix(b".")
    called = re.finditer(rb"(?<![\w.])" + re.escape(name) + rb"\.([\w.]+)", lower)
    return any((within + b"." + one[1] if within else one[1]) in _LOWER_FUNCTIONS for one in called)


@rule(
    "NPU414",
    "no-npu-kernel",
    Safety.MANUAL,
    Severity.INFO,
    words=_WORDS_BEHIND,
    skip_if=_without_operator,
    source="the wheel's list of operators with a kernel, and the operator that the call maps to in torch",
)
def no_npu_kernel(
    node: ast.Call | ast.Attribute | ast.Import | ast.ImportFrom, file: PythonFile
) -> Iterator[Diagnostic]:
    """The release has no NPU kernel for a function's operator, so that it falls back to the CPU.

    torch_npu then copies the arguments to the host and the result back, with a warning. This is slow in a model's step
    and harmless in setup code. Functions that torch composes from other operators are not reported.
    """
    if isinstance(node, ast.ImportFrom):
        # Uses by a plain name stand on lines that hold no word of this rule, so they are reported here, together.
        if not node.level and (node.module or "").startswith("torch"):
            for alias in node.names:
                if needs_operator(f"{node.module}.{alias.name}", None, file):
                    yield from _fallback(alias, f"{node.module}.{alias.name}", file)
                if node.module == "torch" and alias.name in ("linalg", "special"):
                    yield from _by_another_name(alias.asname or alias.name, file)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname and alias.name in ("torch", "torch.linalg", "torch.special"):
                yield from _by_another_name(alias.asname, file)
    elif isinstance(node, ast.Attribute):
        yield from _handed_on(node, file)
    else:
        yield from _called(node, file)


def _called(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    name = file.qualname(node.func)
    if isinstance(node.func, ast.Attribute) and name is None and node.func.attr in _METHODS:
        if file.is_tensor(node.func.value) or _has_to_be_tensor(node.func, file):
            name = f"torch.{node.func.attr}"
    if isinstance(node.func, ast.Attribute) and name is not None and needs_operator(name, node, file):
        yield from _fallback(node, name, file)


def _handed_on(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A function that is named and not called here: ``{"i0": torch.i0}``, ``torch.vmap(torch.i0)``."""
    parent = file.parent(node)
    if isinstance(parent, (ast.Attribute, ast.Compare)) or not isinstance(node.ctx, ast.Load):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    name = file.qualname(node) or ""
    if name.removeprefix("torch.").encode() in _FUNCTIONS and not name.rpartition(".")[2][:1].isupper():
        yield from _fallback(node, name, file)


def _by_another_name(bound: str, file: PythonFile) -> Iterator[Diagnostic]:
    """What a file calls by its own name of a module of torch, on lines that hold no word of this rule."""
    if bound == "torch":
        return
    for one in file.nodes_on_lines_with(bound):
        if isinstance(one, ast.Call) and _root(one.func) == bound:
            yield from _called(one, file)
        elif isinstance(one, ast.Attribute) and _root(one) == bound:
            yield from _handed_on(one, file)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _has_to_be_tensor(method: ast.Attribute, file: PythonFile) -> bool:
    """Whether a method is one that tensors alone have, of an object that nothing is known of, in a file of torch's."""
    if method.attr in _OF_OTHERS or not imports_torch(file):
        return False
    return not file.values(method.value).is_known


def _operator_on_cpu(function: str, file: PythonFile) -> tuple[str, Evidence] | None:
    """The operator of ``function`` that has no kernel on the release, and how that is known."""
    release = file.release
    for spelling in (function, function.replace("torch.", "torch.Tensor.", 1)):
        tried = release.on_cpu(spelling)
        if tried is not None:
            return (tried[0], Evidence.LIVE) if tried else None
    behind = _BEHIND.get(function)
    if behind is None:
        lack = lack_of(function, release) or lack_of(function.replace("torch.", "torch.Tensor.", 1), release)
        return (lack.operator, lack.evidence) if lack is not None and lack.always else None
    if any(op in release.operators or op in release.custom_operators for op in behind):
        return None
    return behind[-1], Evidence.PACKAGE


def _fallback(node: ast.AST, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    sort = distribution(name)
    if sort:
        name = f"torch.distributions.{sort}"
    if file.recall(place := ("NPU414", file.source.start(node))):
        return  # by the file's own name of the module, and by a word on the line
    file.remember(place, True)
    if name.startswith("torch.ops.aten."):
        name = f"torch.{name.split('.')[3]}"
    found = _operator_on_cpu(_MODULES.get(name, name.replace("torch.Tensor.", "torch.")), file)
    if found is None:
        return
    operator, evidence = found
    what = f"{DISTRIBUTIONS[sort][1]} {name}" if sort else name
    yield file.report(
        node,
        phrase(
            "torch_npu {torch_npu} has no kernel for {operator}: {what} runs on the CPU, with "
            "copies to the host and back",
            torch_npu=file.release.torch_npu,
            operator=operator,
            what=what,
        ),
        evidence=evidence,
        source="the call, tried with the installed torch_npu" if evidence is Evidence.LIVE else None,
        subject=name,
        advice="keep it out of the training step, or compose it from other operators; "
        "TORCH_NPU_FALLBACK_CPU_DISABLE=1 makes such calls fail, which exposes them",
    )


@rule(
    "NPU420",
    "foreach-without-kernel",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch._foreach_",),
    names=("torch._foreach_",),
    source="the wheel's list of operators with a kernel; torch has a tensor-by-tensor version of each",
)
def foreach_without_kernel(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The release lists no kernel for a ``torch._foreach_*`` function, so that it runs tensor by tensor.

    The result is the same; only the benefit of a single launch for all tensors is lost.
    """
    operator = (file.qualname(node.func) or "").removeprefix("torch.")
    if not operator.startswith("_foreach_") or operator in file.release.operators:
        return
    yield file.report(
        node,
        phrase(
            "torch_npu {torch_npu} lists no kernel for {operator}: it runs tensor by tensor",
            torch_npu=file.release.torch_npu,
            operator=operator,
        ),
        subject=f"torch.{operator}",
        advice="expect one launch per tensor, or compose it from _foreach_ functions that have a kernel",
    )
