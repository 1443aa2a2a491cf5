"""The table of distributions holds what torch calls, and what of it has no kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from npuify import knowledge
from npuify.knowledge.pytorch.functions import _falls_back
from npuify.rules.operators.distributions import DISTRIBUTIONS

from ...harness import findings

torch = pytest.importorskip("torch", reason="needs torch, to call its distributions")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch", allow_module_level=True)

import torch.distributions as D  # noqa: E402, N812
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_NUMBERS = "Bernoulli ContinuousBernoulli Geometric".split()
_OF_TWO = (
    "Beta Cauchy FisherSnedecor Gamma Gumbel InverseGamma Kumaraswamy Laplace LogNormal Normal Pareto VonMises Weibull"
)
_OF_ONE = "Categorical Chi2 Dirichlet Exponential HalfCauchy HalfNormal OneHotCategorical Poisson StudentT".split()


class _Reached(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operators: dict[str, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators[func.__name__.removesuffix(".default")] = None
        return func(*args, **(kwargs or {}))


def _made() -> dict[str, Callable[[], Any]]:
    ones, matrix = torch.ones(3), torch.eye(3)
    made: dict[str, Callable[[], Any]] = {name: lambda n=name: getattr(D, n)(ones * 0.3) for name in _OF_NUMBERS}
    made |= {name: lambda n=name: getattr(D, n)(ones, ones) for name in _OF_TWO.split()}
    made |= {name: lambda n=name: getattr(D, n)(ones * 3) for name in _OF_ONE}
    return made | {
        "Binomial": lambda: D.Binomial(5, ones * 0.3),
        "LKJCholesky": lambda: D.LKJCholesky(3, torch.ones(())),
        "LowRankMultivariateNormal": lambda: D.LowRankMultivariateNormal(ones, ones[:, None], ones),
        "Multinomial": lambda: D.Multinomial(5, ones),
        "MultivariateNormal": lambda: D.MultivariateNormal(ones, matrix),
        "NegativeBinomial": lambda: D.NegativeBinomial(ones, ones * 0.3),
        "RelaxedBernoulli": lambda: D.RelaxedBernoulli(torch.ones(1), ones * 0.3),
        "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(torch.ones(1), ones),
        "Uniform": lambda: D.Uniform(ones * 0, ones),
        "Wishart": lambda: D.Wishart(torch.tensor(4.0), matrix),
    }


def _lacking(call: Callable[[], Any]) -> str:
    release = knowledge.load("2.14.0")
    with _Reached() as reached:
        call()
    return next((operator for operator in reached.operators if _falls_back(operator, release)), "")


@pytest.mark.filterwarnings("ignore")
def test_the_table_is_what_torch_calls() -> None:
    found = {}
    for name, make in _made().items():
        drawn = make()
        x = drawn.sample()
        ways = (
            ("making a", make),
            ("sampling from", drawn.sample),
            ("log_prob of", lambda d=drawn, x=x: d.log_prob(x)),
        )
        lacking = next(((operator, way) for way, call in ways if (operator := _lacking(call))), None)
        if lacking is not None:
            found[name] = lacking
    assert found == DISTRIBUTIONS


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("import torch.distributions as D\nd = D.MultivariateNormal(m, c)\n", "linalg_cholesky_ex"),
        (
            "from torch.distributions import MultivariateNormal as N\nd = N(m, precision_matrix=p)\n",
            "linalg_cholesky_ex",
        ),
        ("import torch\nfrom torch import distributions\nd = distributions.Beta(a, b)\n", "_sample_dirichlet"),
        ("import torch\nd = torch.distributions.studentT.StudentT(3.0)\n", "_standard_gamma"),
        ("import torch.distributions as D\nd = D.MultivariateNormal(m, scale_tril=c)\n", ""),
        ("from torch.distributions import MultivariateNormal as N\nd = N(m, scale_tril=c)\n", ""),
        ("from torch.distributions import MultivariateNormal\nprint(isinstance(d, MultivariateNormal))\n", ""),
        ("import torch.distributions as D\nd = D.Normal(m, c)\n", ""),
        ("import torch\nfrom mine.distributions import MultivariateNormal\nd = MultivariateNormal(m, c)\n", ""),
    ],
)
def test_what_is_told(text: str, operator: str) -> None:
    found = [item.message for item in findings(text) if item.code == "NPU414"]
    assert [operator in message for message in found] == ([True] if operator else [])
