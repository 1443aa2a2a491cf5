"""S4's products against complex sums over poles, in double precision, and torch's gradients of those."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch


def _complex(*shape: int, seed: int) -> Any:
    return torch.complex(numbers(*shape, seed=seed), numbers(*shape, seed=seed + 1))


def _same(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    close(torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj()), tolerance)


@pytest.fixture(params=[2**24, 9], ids=["at once", "in slices"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = module("structured_kernels")
    monkeypatch.setattr(made, "_AT_ONCE", request.param)
    return made


@pytest.mark.parametrize("poles", [1, 4, 5])
def test_cauchy(kernels: Any, poles: int) -> None:
    v, w, z = _complex(2, poles, seed=1).requires_grad_(), _complex(2, poles, seed=3), _complex(7, seed=5) * 2
    w = (w - 0.5).requires_grad_()
    wanted = torch.stack(
        [(v / (one - w) + v.conj() / (one - w.conj())).sum(-1) for one in z],
        -1,
    )
    out = kernels.cauchy_mult_sym_fwd(v.detach(), z, w.detach())
    _same(out, wanted.detach())
    grad = _complex(2, 7, seed=8)
    by_torch = torch.autograd.grad(wanted, [v, w], grad)
    for one, other in zip(kernels.cauchy_mult_sym_bwd(v.detach(), z, w.detach(), grad), by_torch, strict=True):
        _same(one, other)


@pytest.mark.parametrize("poles", [1, 4, 5])
def test_vandermonde(kernels: Any, poles: int) -> None:
    v = _complex(2, poles, seed=1).requires_grad_()
    x = (_complex(2, poles, seed=3) - 1).requires_grad_()
    wanted = torch.stack([2 * (torch.exp(x * place) * v).sum(-1).real for place in range(7)], -1)
    out = kernels.vand_log_mult_sym_fwd(v.detach(), x.detach(), 7)
    assert not out.is_complex()
    close(out, wanted.detach())
    grad = numbers(2, 7, seed=8)
    by_torch = torch.autograd.grad(wanted, [v, x], grad)
    for one, other in zip(kernels.vand_log_mult_sym_bwd(v.detach(), x.detach(), grad), by_torch, strict=True):
        _same(one, other)


def test_gradients_are_those_of_differences() -> None:
    """That of a complex number is ``d/da + i d/db``, as torch has it."""
    kernels, v, w, z = (
        module("structured_kernels"),
        _complex(1, 2, seed=1),
        _complex(1, 2, seed=3),
        _complex(3, seed=5) * 2,
    )
    weight = _complex(1, 3, seed=7)

    def total(v: Any, w: Any) -> float:
        return float((kernels.cauchy_mult_sym_fwd(v, z, w) * weight.conj()).real.sum())

    made = kernels.cauchy_mult_sym_bwd(v, z, w, weight)
    for which in (0, 1):
        for place in range(2):
            for unit in (1, 1j):
                ends = []
                for step in (1e-6, -1e-6):
                    given = [v.clone(), w.clone()]
                    given[which][0, place] += step * unit
                    ends.append(total(*given))
                part = made[which][0, place].imag if unit == 1j else made[which][0, place].real
                assert float(part) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-6)
