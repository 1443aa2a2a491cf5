"""How wide kernels are launched: numbers of threads are free, but a launch that covers a part is another operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.knowledge.third_party import replacements
from npuify.knowledge.third_party.replacements import Replacement
from npuify.options import Options
from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.extensions.launches import Launches
from npuify.rules.packages.extensions.operators import Operators
from npuify.source.native.reader import read_native
from tests.rules.packages.test_replacing import BINDING, KERNEL, PROJECT, SETUP, _digest, _with, _write

if TYPE_CHECKING:
    from pathlib import Path


def _launched(kernel: str = KERNEL) -> str:
    texts = {"net/ops/pick.cpp": BINDING.encode(), "net/ops/pick_kernel.cu": kernel.encode()}
    operators = Operators(
        {name: read_native(data) for name, data in texts.items()},
        builds_in("setup.py", SETUP.encode()),
        texts.__getitem__,
    )
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    return Launches(operators.fingerprints()).of(*found)


BLOCKS = "dim3 blocks((n + THREADS - 1) / THREADS);"
GRID = (("    if (index >= n) return;\n", "    for (; index < n; index += blockDim.x * gridDim.x)\n"),)
SHARED = (("    if (index >= n) return;\n", "    __shared__ float held[256];\n    if (index >= n) return;\n"),)
HELPER = (
    ("at::Tensor pick_cuda", "inline int blocks_for(const int N) { return (N + THREADS - 1) / THREADS; }\n\nat::Tensor pick_cuda"),
    (BLOCKS, "dim3 blocks(blocks_for(n));"),
)  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        (("THREADS 256", "THREADS 512"),),
        (("dim3 blocks(", "dim3 grid("), ("<<<blocks", "<<<grid")),
        (("int n = ", "int number = "), ("(n + ", "(number + "), ("(n, points", "(number, points")),
        (("(n + THREADS - 1) / THREADS", "(n + 127) / 128"), ("blocks, THREADS", "blocks, 128")),
        (("dim3 blocks(", "dim3 blocks = dim3("),),
        (("blocks, THREADS, 0, stream", "blocks, THREADS"),),
    ],
)
def test_what_covers_the_same_is_the_same(changes: tuple[tuple[str, str], ...]) -> None:
    assert _launched(_with(KERNEL, *changes)) == _launched() != ""


@pytest.mark.parametrize(
    "change",
    [
        (BLOCKS, "dim3 blocks(n / THREADS);"),
        (BLOCKS, "dim3 blocks(1);"),
        (BLOCKS, "dim3 blocks((size + THREADS - 1) / THREADS);"),
        (BLOCKS, "dim3 blocks((n / 2 + THREADS - 1) / THREADS);"),
        ("blocks, THREADS", "blocks, 128"),
        ("blocks, THREADS", "blocks, THREADS / 2"),
        ("(n + THREADS - 1) / THREADS", "(n + 511) / 512"),
        ("<<<blocks", "<<<1"),
    ],
)
def test_what_covers_a_part_is_not(change: tuple[str, str]) -> None:
    kernel = _with(KERNEL, change)
    assert _digest(kernel) == _digest()
    assert _launched(kernel) not in ("", _launched())


def test_a_kernel_that_goes_on_by_the_grid_covers_all_with_any() -> None:
    whole = _with(KERNEL, *GRID)
    assert _launched(_with(whole, (BLOCKS, "dim3 blocks(64);"))) == _launched(whole) != _launched()


def test_where_threads_share_memory_their_number_counts() -> None:
    shared = _with(KERNEL, *SHARED)
    assert _launched(_with(shared, ("THREADS 256", "THREADS 512"))) != _launched(shared)


def test_what_a_function_of_the_project_counts_is_read() -> None:
    helped = _with(KERNEL, *HELPER)
    assert _launched(_with(helped, ("THREADS 256", "THREADS 512"))) == _launched(helped)
    assert _launched(_with(helped, ("return (N + THREADS - 1) / THREADS", "return N / THREADS"))) != _launched(helped)


@pytest.mark.parametrize(
    ("change", "replaced"), [(("THREADS 256", "THREADS 512"), True), ((BLOCKS, "dim3 blocks(n / THREADS);"), False)]
)
def test_it_is_told_and_not_replaced(
    change: tuple[str, str], replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Replacement(family="chamfer", function="forward", seen="example/net")
    monkeypatch.setattr(replacements, "_by_digest", lambda: {("pick", _digest()): row})
    monkeypatch.setattr(replacements, "_launches", lambda: {_digest(): (_launched(),)})
    replacements.replaced_names.cache_clear()
    try:
        source = _write(tmp_path, {**PROJECT, "net/ops/pick_kernel.cu": _with(KERNEL, change)})
        options = Options(cache=False, jobs=1, replace_kernels=True)
        found = npuify.scan([source], options).findings
    finally:
        replacements.replaced_names.cache_clear()
    assert any(one.code == "NPU643" for one in found) == replaced
    if not replaced:
        (finding,) = [one for one in found if one.code == "NPU630"]
        assert "its kernels are launched otherwise" in (finding.advice or "")


def test_recorded_launches_are_those_of_known_copies() -> None:
    known = {digest for family in replacements.families().values() for row in family.operators for digest in row.copies}
    recorded = replacements._launches()
    assert set(recorded) <= known
    assert len(known - set(recorded)) <= 2


RECORDED = {"plain": "e68d0b1b2189beb9", "shared": "2cb2536a6fb52145"}


def test_what_is_recorded_is_made_as_before() -> None:
    """Whoever changes it on purpose records anew (``python -m tools.kernel_digests … --launches``), then these."""
    assert {"plain": _launched(), "shared": _launched(_with(KERNEL, *SHARED))} == RECORDED


CIRCLE = """\
#include <torch/extension.h>
__global__ void each_kernel(int n, float* p) { if (threadIdx.x < n) p[threadIdx.x] += 1; }
void down(at::Tensor a, int n);
void up(at::Tensor a, int n) { each_kernel<<<1, 64>>>(n, a.data_ptr<float>()); if (n > 1) down(a, n - 1); }
void down(at::Tensor a, int n) { if (n > 2) up(a, n / 2); }
void first(at::Tensor a) { up(a, 9); }
void second(at::Tensor a) { down(a, 9); }
void third(at::Tensor a) { down(a, 3); up(a, 4); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("first", &first, "");
    m.def("second", &second, "");
    m.def("third", &third, "");
}
"""


def test_what_was_asked_before_touches_no_digest() -> None:
    """Functions that call each other in a circle had a digest that hung on where the circle was entered first."""
    texts = {"net/circle.cu": CIRCLE.encode()}
    operators = Operators({"net/circle.cu": read_native(CIRCLE.encode())}, (), texts.__getitem__)
    bound = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    alone = [operators.fingerprints().of(*one) for one in bound]
    assert len({*alone, ""}) == 4
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)):
        prints = operators.fingerprints()
        assert [prints.of(*bound[one]) for one in order] == [alone[one] for one in order]
