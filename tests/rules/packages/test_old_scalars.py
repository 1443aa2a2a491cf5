"""The first element of a number: edited where it surely is one, told where only its name says so."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings


@pytest.mark.parametrize(
    ("body", "safety"),
    [
        ("loss = model(x)\n    return loss.data[0]", Safety.REVIEW),
        ("loss_nll, kl = model(x)\n    return kl.data[0]", Safety.REVIEW),
        ("value = model(x)\n    value.backward()\n    return value.data[0]", Safety.SAFE),
        ("value = model(x).sum()\n    return value.data[0]", Safety.SAFE),
        ("a = model(x)\n    whole = a + model(x) - 1\n    whole.backward()\n    return a.data[0]", Safety.SAFE),
        # A tensor whose gradient is given has dimensions, and what another name says may have.
        ("loss = model(x)\n    loss.backward(torch.ones(2))\n    return loss.data[0]", None),
        ("value = model(x)\n    return value.data[0]", None),
        ("value = model(x).sum(1)\n    return value.data[0]", None),
        ("return model.weight.data[0]", None),
        ("closs = model(x)\n    closs.data[0] = 1", None),
    ],
)
def test_first_element(body: str, safety: Safety | None) -> None:
    found = [one for one in findings(f"import torch\n\n\ndef f(model, x):\n    {body}\n") if one.code == "NPU662"]
    assert [one.safety for one in found] == ([safety] if safety else [])
