"""The measures of one pair."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.core

np = pytest.importorskip("numpy")

from npuify.knowledge import tolerances  # noqa: E402
from npuify.verify.comparison.metrics import Meter, Metrics, coarser  # noqa: E402
from npuify.verify.comparison.model import Tensor  # noqa: E402


def tensor(values: Any, dtype: str = "float32") -> Tensor:
    array = np.asarray(values)
    floats = array.astype(np.float64)
    finite = floats[np.isfinite(floats)]
    return Tensor(
        slot="0",
        dtype=dtype,
        shape=array.shape,
        count=array.size,
        low=float(finite.min()) if finite.size else None,
        high=float(finite.max()) if finite.size else None,
        mean=float(finite.mean()) if finite.size else None,
        norm=float(np.linalg.norm(finite)) if finite.size else None,
        nan=int(np.isnan(floats).sum()),
        inf=int(np.isinf(floats).sum()),
        load=lambda: array.reshape(-1),
    )


def measured(a: Any, b: Any, dtype: str = "float32", other: str = "") -> Metrics:
    return Meter().measure(tensor(a, dtype), tensor(b, other or dtype))


def test_equal_values_have_no_error() -> None:
    found = measured(np.ones(4, np.float32), np.ones(4, np.float32))
    assert found.exact
    assert found.norm_error == 0
    assert found.cosine == 1


def test_errors_by_hand() -> None:
    found = measured(np.array([1, 2, 4], np.float32), np.array([1, 2, 5], np.float32))
    assert found.max_absolute_error == 1
    assert found.max_relative_error == pytest.approx(0.25)
    assert found.mean_relative_error == pytest.approx(0.25 / 3)
    assert found.norm_error == pytest.approx(1 / math.sqrt(21))
    assert found.cosine == pytest.approx(25 / math.sqrt(21 * 30))
    assert found.share_over_thousandth == pytest.approx(1 / 3)


def test_small_values_are_judged_absolutely() -> None:
    a, b = np.array([1.0, 1e-6], np.float32), np.array([1.0, 1.0005e-6], np.float32)
    assert measured(a, b).max_relative_error == 0
    b[1] = 5e-6
    assert measured(a, b).max_relative_error > 0


def test_units_in_the_last_place() -> None:
    a = np.ones(1000, np.float32)
    b = a.copy()
    b[:10] = np.frombuffer((np.frombuffer(a[:10].tobytes(), np.int32) + 33).tobytes(), np.float32)
    found = measured(a, b)
    assert found.mean_ulp == pytest.approx(0.33)
    assert found.ulp_share == pytest.approx(0.01)
    assert measured(np.float32([-0.0]), np.float32([0.0])).mean_ulp == 0


def test_one_factor_is_seen_and_noise_is_not() -> None:
    generator = np.random.default_rng(1)
    a = generator.standard_normal(500).astype(np.float32)
    assert measured(a, a * np.float32(1.25)).ratio == pytest.approx(1.25)
    assert measured(a, a + generator.standard_normal(500).astype(np.float32)).ratio is None


def test_overflow_on_one_side_only() -> None:
    a, b = np.float16([1, 2, 3]), np.float16([1, 2, np.inf])
    assert measured(a, b, "float16").problem == "overflow"
    assert measured(b, b, "float16").problem == ""
    assert measured(np.float32([1, 2]), np.float32([1, np.nan])).problem == "nan"


def test_a_mask_of_infinity_and_one_of_the_lowest_number_are_the_same() -> None:
    a, b = np.float32([0, -np.inf, 0]), np.float32([0, -3.4e38, 0])
    found = measured(a, b)
    assert found.problem == ""
    assert found.norm_error == 0


def test_truth_values() -> None:
    a = np.uint8([0, 1, 1, 0])
    assert measured(a, 1 - a, "bool").problem == "complement"
    assert measured(a, np.uint8([0, 1, 1, 1]), "bool").norm_error == 0.25


def test_shapes_that_differ() -> None:
    assert measured(np.ones(4, np.float32), np.ones(5, np.float32)).problem == "shape"
    assert measured(np.ones((4, 1), np.float32), np.ones(4, np.float32)).problem == ""


def test_without_values_statistics_bound_the_error_from_below() -> None:
    a, b = np.float32([1, 2, 3, 4]), np.float32([1, 2, 3, 6])
    whole = measured(a, b)
    bare = [Tensor(**{**vars(tensor(values)), "load": None}) for values in (a, b)]
    found = Meter().measure(*bare)
    assert not found.sampled
    assert 0.25 < found.norm_error <= whole.norm_error


def test_scales_are_taken_out() -> None:
    a = np.float32([1, 2, 3])
    found = Meter().measure(tensor(a), tensor(a * 1024), scales=(1.0, 1024.0))
    assert found.norm_error == 0


def test_the_coarser_type_judges() -> None:
    assert coarser("float32", "bfloat16") == "bfloat16"
    assert coarser("float64", "float32", "float16") == "float16"
    assert coarser("int64", "bool") == "float32"
    assert measured(np.float32([1]), np.float64([1]), "float32", "float64").dtype == "float32"


def test_every_limit_that_is_asked_for_is_in_the_table() -> None:
    for dtype in ("float64", "float32", "hf32", "float16", "bfloat16"):
        module = tolerances.limit(dtype, "module", "norm_error")
        assert tolerances.limit(dtype, "gradient", "norm_error") >= module
    order = [tolerances.limit(dtype, "module", "norm_error") for dtype in ("float64", "float32", "hf32", "float16")]
    assert order == sorted(order)
    assert tolerances.limit("any", "loss", "mean_relative_error") == 0.01
    assert len(tolerances.rows_for("float32", "operator")) >= 6
