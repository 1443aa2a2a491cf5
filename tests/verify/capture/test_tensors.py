"""How a tensor is described: which values are kept, and what is said of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

from npuify.verify.capture import tensors  # noqa: E402
from npuify.verify.capture.settings import Settings  # noqa: E402
from npuify.verify.capture.store import Store  # noqa: E402
from npuify.verify.comparison.metrics import kept_places  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(Settings(folder=str(tmp_path), limit=1 << 20))


def described(store: Store, tensor: Any, samples: int = 64, **how: Any) -> dict[str, Any]:
    return tensors.Describer(store, samples).describe(tensor, **how)


@pytest.mark.parametrize("count", [65, 100, 1000, 4096, 10**6 + 3])
def test_the_same_places_for_the_same_size(count: int) -> None:
    places = tensors.places(count, 64)
    assert len(set(places.tolist())) == 64
    assert places.min() >= 0
    assert places.max() < count
    assert places.tolist() == tensors.places(count, 64).tolist()
    assert places.tolist() == kept_places(count, 64).tolist(), "the comparison knows the same places"
    gaps = torch.diff(places)
    assert gaps.max() < 4 * count / 64, "spread over the whole"


def test_no_period_of_the_shape_is_met(store: Store) -> None:
    columns = tensors.places(256 * 256, 512) % 256
    assert len(set(columns.tolist())) > 200


def test_statistics(store: Store) -> None:
    found = described(store, torch.tensor([3.0, -4.0, 0.0, math.nan, math.inf, -math.inf]))
    assert (found["min"], found["max"]) == (-4, 3)
    assert found["norm"] == 5
    assert found["mean"] == pytest.approx(-1 / 3)
    assert (found["nan"], found["inf"], found["zero"]) == (1, 2, 1)


def test_large_tensors_go_piece_by_piece(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    value = torch.randn(1000, 3).t()
    whole = described(store, value)
    monkeypatch.setattr(tensors, "PIECE", 128)
    pieces = described(store, value)
    for key in ("min", "max", "count", "kept"):
        assert whole[key] == pieces[key]
    assert whole["norm"] == pytest.approx(pieces["norm"])


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "bool", "uint8", "complex64"])
def test_every_type_comes_back_as_it_was(store: Store, tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("numpy")
    from npuify.verify.comparison.values import Values

    value = (torch.randn(5, 3) * 3).to(getattr(torch, dtype))
    found = described(store, value)
    store.put({"event": "note", "text": ""})
    store.close()
    back = Values(tmp_path / "rank0" / "values.bin").read(found["at"], found["kept"], found["dtype"])
    plain = torch.view_as_real(value) if value.is_complex() else value
    assert back.tolist() == plain.to(torch.float32 if dtype == "bfloat16" else plain.dtype).flatten().tolist()


def test_what_has_no_values_is_only_named(store: Store) -> None:
    assert described(store, torch.ones(2, device="meta"))["values"] == "none"
    assert described(store, torch.eye(3).to_sparse())["values"] == "none"
    assert "at" not in described(store, torch.ones(0, 3))


def test_a_tensor_that_was_written_to_is_described_anew(store: Store) -> None:
    describer, value = tensors.Describer(store, 64), torch.zeros(3)
    before = describer.describe(value)
    assert describer.describe(value) is before
    value.add_(1)
    assert describer.describe(value)["max"] == 1


def test_the_limit_stops_values_and_not_statistics(tmp_path: Path) -> None:
    store = Store(Settings(folder=str(tmp_path), limit=100))
    assert "at" in described(store, torch.ones(20))
    found = described(store, torch.ones(20))
    assert "at" not in found
    assert found["norm"] == pytest.approx(math.sqrt(20))
    assert store.full


def test_rows_are_recognised_in_another_order(store: Store) -> None:
    value = torch.randint(0, 50, (6, 9))
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    rows = described(store, value, rows=True)["rows"]
    others = described(store, value[order], rows=True)["rows"]
    assert others == [rows[i] for i in order.tolist()]
    assert len(set(rows)) == 6
