"""Variants of one extension that a hostile hand makes: what changes a result is another code, what does not is the same.

Each of them was once taken for the code that it was made of.
"""

from __future__ import annotations

import pytest

from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.extensions.operators import Operators
from npuify.source.native.reader import read_native

KERNEL = """\
#include <torch/extension.h>
#include "share.h"

template <typename scalar_t>
__global__ void pick_kernel(const int n, const scalar_t* points, int size, int pad, scalar_t* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float at = corner_of(points[i], size);
#ifdef WIDE
    at = at * 2;
#endif
    if (at > LOW && at < size + pad + MODE + TABLE[0] + offset) { atomicAdd(out + i, at); }
    float2 v = make(at) + make(at);
    out[i] += v.x;
}

at::Tensor pick_cuda(const at::Tensor& points, int size, int pad) {
    auto out = at::zeros_like(points);
    if (mode_name == "low") { size = size + 1; }
    CHECK_INPUT(points);
    AT_DISPATCH_FLOATING_TYPES(points.type(), "pick", ([&] {
        pick_kernel<scalar_t><<<blocks, 32>>>(points.numel(), points.data<scalar_t>(), size, pad, out.data<scalar_t>());
    }));
    reduce(out, "max");
    return out;
}
"""
HEADER = """\
#pragma once
#define LOW -1
#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x)
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be")
enum Kind { MODE = 0, OTHER = 1 };
float TABLE[2] = {0.0f, 1.0f};
int offset = 0;
inline float2 make(float v) { return v; }
inline float2 operator+(float2 a, float2 b) { return a.x + b.x; }
inline float corner_of(float x, int size) { return x * size - 0.5f; }
"""
BINDING = """\
#include <torch/extension.h>
at::Tensor pick_cuda(const at::Tensor& points, int size, int pad = 1);
at::Tensor pick(const at::Tensor& points, int size) {
    return pick_cuda(points, size);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("pick", &pick, "pick points", py::arg("points"), py::arg("size") = 2);
}
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="net", ext_modules=[CUDAExtension("pick_ext", ["pick.cpp", "pick_kernel.cu"])])
"""
FILES = {"pick.cpp": BINDING, "pick_kernel.cu": KERNEL, "share.h": HEADER, "setup.py": SETUP}

Change = tuple[str, str, str]
"""A file, a text in it, and what stands there in the variant."""


def _digest(*changes: Change, more: dict[str, str] | None = None) -> str:
    files = {**FILES, **(more or {})}
    for name, old, new in changes:
        assert old in files[name], old
        files[name] = files[name].replace(old, new)
    setup = files.pop("setup.py")
    texts = {name: text.encode() for name, text in files.items()}
    native = {name: read_native(data) for name, data in texts.items()}
    operators = Operators(native, builds_in("setup.py", setup.encode()), texts.__getitem__)
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    return operators.fingerprints().of(*found)


_TOLD = '"pick_kernel.cu"]'
_FLAGS = '"pick_kernel.cu"], extra_compile_args={"nvcc": ["-O3", "-D%s"]}'

OTHER: dict[str, Change] = {
    "a function of a header that names neither torch nor a kernel": ("share.h", "- 0.5f", "- 0.0f"),
    "a condition that the file decides": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#define WIDE 1\n'),
    "a condition that a header decides": ("share.h", "#define LOW", "#define WIDE\n#define LOW"),
    "no condition": ("pick_kernel.cu", "#ifdef WIDE\n    at = at * 2;\n#endif", "    at = at * 2;"),
    "the other case of a condition": ("pick_kernel.cu", "#ifdef WIDE", "#ifndef WIDE"),
    "a function under a condition": ("share.h", "inline float corner", "#if MODE\ninline float corner"),
    "a condition that the compiler is told": ("setup.py", _TOLD, _FLAGS % "WIDE"),
    "a macro of setup.py": ("setup.py", _TOLD, _TOLD + ', define_macros=[("WIDE", None)]'),
    "a name that the compiler is told": ("setup.py", _TOLD, _FLAGS % "atomicAdd=atomicMax"),
    "a value that the compiler is told": ("setup.py", _TOLD, _FLAGS % "offset=3"),
    "a text that is compared": ("pick_kernel.cu", '"low"', '"high"'),
    "a text that is handed on": ("pick_kernel.cu", '"max"', '"min"'),
    "a check that computes": ("share.h", "CHECK_INPUT(x) CHECK_CUDA(x);", "CHECK_INPUT(x) x = x * 2;"),
    "a check that writes": ("share.h", "CHECK_INPUT(x) CHECK_CUDA(x);", "CHECK_INPUT(x) x.zero_();"),
    "a check that calls": ("share.h", "CHECK_INPUT(x) CHECK_CUDA(x);", "CHECK_INPUT(x) clear(x);"),
    "what a check is given": ("pick_kernel.cu", "CHECK_INPUT(points);", "TORCH_CHECK(out.add_(1).defined());"),
    "the value of an enumerator": ("share.h", "MODE = 0", "MODE = 2"),
    "the order of enumerators": ("share.h", "MODE = 0, OTHER = 1", "OTHER, MODE"),
    "a table that is no constant": ("share.h", "{0.0f, 1.0f}", "{2.0f, 1.0f}"),
    "a variable of the file": ("share.h", "int offset = 0", "int offset = 1"),
    "an operator of a type": ("share.h", "a.x + b.x", "a.x - b.x"),
    "what a prototype has for what is not given": ("pick.cpp", "int pad = 1", "int pad = 2"),
    "what the binding has for what is not given": ("pick.cpp", "= 2);", "= 3);"),
    "what a template has for what is not given": (
        "pick_kernel.cu",
        "<typename scalar_t>",
        "<typename scalar_t, int N = 2>",
    ),
    "a variable that is kept between calls": ("pick_kernel.cu", "auto out = at", "static auto out = at"),
    "a macro with a function's name": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#define atomicAdd atomicMax\n'),
    "a macro with a type's name": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#define float double\n'),
    "a macro with a word's name": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#define if(x) if (!(x))\n'),
    "a macro with a variable's name": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#define pad size\n'),
    "a macro that is defined again": ("pick_kernel.cu", '"share.h"\n', '"share.h"\n#undef LOW\n#define LOW 3\n'),
    "other types": ("pick_kernel.cu", "AT_DISPATCH_FLOATING_TYPES(", "AT_DISPATCH_ALL_TYPES("),
    "the type of something else": ("pick_kernel.cu", "TYPES(points.type", "TYPES(out.type"),
    "one more extent of the launch": ("pick_kernel.cu", "<<<blocks, 32>>>", "<<<dim3(blocks, 1, 2), 32>>>"),
    "one more statement in braces": ("pick_kernel.cu", "{ atomicAdd", "{ at = 1; atomicAdd"),
    "a condition before what follows": ("pick_kernel.cu", "return;", "return; else"),
}

SAME: dict[str, Change] = {
    "another name of what is dispatched": ("pick_kernel.cu", '"pick", ([', '"pick_cuda", (['),
    "another message": ("share.h", '" must be"', '" has to be"'),
    "a macro that nothing names": ("share.h", "#define LOW", "#define UNUSED 3\n#define LOW"),
    "a flag that nothing names": ("setup.py", _TOLD, _FLAGS % "__CUDA_NO_HALF_OPERATORS__"),
    "no check": ("pick_kernel.cu", "    CHECK_INPUT(points);\n", ""),
    "fewer checks": ("share.h", "CHECK_CUDA(x); CHECK_CONTIGUOUS(x)", "CHECK_CUDA(x)"),
    "one more function": (
        "share.h",
        "inline float2 make",
        "inline float none(float a) { return a; }\ninline float2 make",
    ),
    "braces": ("pick_kernel.cu", "if (i >= n) return;", "if (i >= n) {\n        return;\n    }"),
    "no braces": ("pick_kernel.cu", "{ atomicAdd(out + i, at); }", "atomicAdd(out + i, at);"),
    "half precision as well": ("pick_kernel.cu", "FLOATING_TYPES(", "FLOATING_TYPES_AND_HALF("),
    "two half types as well": ("pick_kernel.cu", "FLOATING_TYPES(", "FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, "),
    "extents of one": ("pick_kernel.cu", "<<<blocks, 32>>>", "<<<dim3(blocks, 1, 1), dim3(64)>>>"),
    "a check of an assignment's result": ("pick_kernel.cu", "CHECK_INPUT(points);", "TORCH_CHECK(size == 1);"),
}


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_what_changes_a_result_is_another_code(change: Change) -> None:
    assert _digest(change) != _digest()


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_does_not_is_the_same(change: Change) -> None:
    assert _digest()
    assert _digest(change) == _digest()


def test_what_a_template_calls_its_types_counts_for_nothing() -> None:
    changes: list[Change] = [
        ("pick_kernel.cu", "template <typename scalar_t>", "template <typename T>"),
        ("pick_kernel.cu", "const scalar_t* points", "const T* points"),
        ("pick_kernel.cu", "scalar_t* out)", "T* out)"),
    ]
    assert _digest(*changes) == _digest()


def test_neither_does_the_name_of_a_header() -> None:
    renamed: Change = ("pick_kernel.cu", '"share.h"', '"shared.h"')
    assert _digest(renamed, ("share.h", HEADER, ""), more={"shared.h": HEADER}) == _digest()


def test_nor_a_guard_of_a_header() -> None:
    guard = HEADER.replace("#pragma once", "#ifndef SHARE_H\n#define SHARE_H") + "#endif\n"
    assert _digest(more={"share.h": guard}) == _digest()


@pytest.mark.parametrize(("old", "new"), [("#define LOW -1", "#define LOW 0"), ("- 0.5f", "- 0.0f")])
def test_the_header_that_is_included_counts(old: str, new: str) -> None:
    """Another beside it has the same names, and came first."""
    includes: Change = ("pick_kernel.cu", '"share.h"', '"share2.h"')
    assert _digest(includes, more={"share2.h": HEADER.replace(old, new)}) != _digest()
    assert _digest(more={"another.h": HEADER.replace(old, new)}) == _digest()


def test_what_the_schema_of_a_library_has_for_what_is_not_given() -> None:
    schema = 'TORCH_LIBRARY(lib, m) {\n    m.def("pick(Tensor points, int size=%s) -> Tensor", &pick);\n}\n'
    one, other = (BINDING[: BINDING.index("PYBIND11")] + schema % value for value in (1, 2))
    assert _digest(more={"pick.cpp": one}) not in ("", _digest(more={"pick.cpp": other}))
