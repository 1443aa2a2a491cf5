"""Classes of torch.distributions, and what of them reaches an operator that torch_npu has no kernel for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_GAMMA = ("_standard_gamma", "sampling from")
_DIRICHLET = ("_sample_dirichlet", "sampling from")
_CHOLESKY = ("linalg_cholesky_ex", "making a")
_LGAMMA = ("lgamma", "log_prob of")
DISTRIBUTIONS: Final = {
    "Beta": _DIRICHLET,
    "Binomial": ("binomial", "sampling from"),
    "Cauchy": ("cauchy_", "sampling from"),
    "Chi2": _GAMMA,
    "Dirichlet": _DIRICHLET,
    "FisherSnedecor": _GAMMA,
    "Gamma": _GAMMA,
    "HalfCauchy": ("cauchy_", "sampling from"),
    "InverseGamma": _GAMMA,
    "LKJCholesky": _DIRICHLET,
    "LowRankMultivariateNormal": _CHOLESKY,
    "Multinomial": _LGAMMA,
    "MultivariateNormal": _CHOLESKY,
    "NegativeBinomial": _GAMMA,
    "Poisson": ("poisson", "sampling from"),
    "RelaxedOneHotCategorical": _LGAMMA,
    "StudentT": _GAMMA,
    "Wishart": _CHOLESKY,
}
"""Class → the operator, and what of the class calls it: first what making it calls, then ``sample``, then ``log_prob``.

Recorded from calls of torch on a CPU; ``tests/rules/operators/test_distributions.py`` records them again.
"""
_PREFIX = "torch.distributions."
_GIVEN = {"MultivariateNormal": "scale_tril"}
"""With this argument, the class factors no matrix."""


def distribution(name: str) -> str:
    """The class that a qualified name denotes, by any spelling; empty for one that reaches no such operator."""
    last = name.rpartition(".")[2]
    return last if name.startswith(_PREFIX) and last in DISTRIBUTIONS else ""


def needs_operator(name: str, call: ast.Call | None, file: PythonFile) -> bool:
    """Whether a call, or what is done with an imported name, reaches the operator of a class."""
    given = _GIVEN.get(name.rpartition(".")[2])
    if given is None:
        return True
    if call is not None:
        return not any(item.arg == given for item in call.keywords) and len(call.args) < 4
    bound = [node for node in ast.walk(file.source.tree) if isinstance(node, ast.Call)]
    return any(file.qualname(one.func) == name and needs_operator(name, one, file) for one in bound)
