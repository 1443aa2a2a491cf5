"""Extensions are known by their code: what differs only in names is replaced, what differs in meaning is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.replacements import PAGE, renewed

import npuify
from npuify.helpers import MARK, kernel_text
from npuify.knowledge.third_party import replacements
from npuify.knowledge.third_party.replacements import Replacement
from npuify.options import Options
from npuify.report.verdicts.levels import Level
from npuify.report.verdicts.verdict import judge
from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.extensions.operators import Operators
from npuify.source.native.form import form_of
from npuify.source.native.reader import read_native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPLACE = Options(cache=False, jobs=1, replace_kernels=True)

KERNEL = """\
#include <torch/extension.h>
#define THREADS 256
#define CORNER(v) ((v) - 0.5f)
#define SHARE 3
const float FAR = 1e10;

__device__ __forceinline__ float corner_of(float x, int size) {
    return CORNER(x * size);
}

template <typename scalar_t>
__global__ void pick_kernel(const int n, const scalar_t* __restrict__ points, int size, int pad, scalar_t* out) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    float at = corner_of(points[index], size);
    // outside there is nothing
    if (at > -1 && at < size + pad) {
        out[index] = at * SHARE + FAR;
    } else {
        out[index] = 0.0f;
    }
}

at::Tensor pick_cuda(const at::Tensor& points, int size, int pad) {
    auto out = at::zeros_like(points);
    int n = points.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    dim3 blocks((n + THREADS - 1) / THREADS);
    AT_DISPATCH_FLOATING_TYPES(points.type(), "pick", ([&] {
        pick_kernel<scalar_t><<<blocks, THREADS, 0, stream>>>(n, points.data<scalar_t>(), size, pad, out.data<scalar_t>());
    }));
    cudaError_t err = cudaGetLastError();
    if (cudaSuccess != err) { printf("failed"); exit(-1); }
    return out;
}
"""
BINDING = """\
#include <torch/extension.h>
at::Tensor pick_cuda(const at::Tensor& points, int size, int pad);

at::Tensor pick(const at::Tensor& points, int size, int pad) {
    TORCH_CHECK(points.is_cuda(), "on a GPU only");
    return pick_cuda(points, size, pad);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("pick", &pick, "pick points");
}
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="net", ext_modules=[CUDAExtension("net.ops.pick_ext", ["net/ops/pick.cpp", "net/ops/pick_kernel.cu"])],
      cmdclass={"build_ext": BuildExtension})
"""
WRAPPER = """\
import torch

from . import pick_ext


def pick(points, size):
    return pick_ext.pick(points, size, 0)
"""
PROJECT = {
    "setup.py": SETUP,
    "net/__init__.py": "",
    "net/ops/__init__.py": "",
    "net/ops/pick.py": WRAPPER,
    "net/ops/pick.cpp": BINDING,
    "net/ops/pick_kernel.cu": KERNEL,
    "train.py": "import torch\nfrom net.ops.pick import pick\n\nprint(pick(torch.ones(3).cuda(), 4))\n",
}


def _digest(kernel: str = KERNEL, binding: str = BINDING) -> str:
    texts = {"net/ops/pick.cpp": binding.encode(), "net/ops/pick_kernel.cu": kernel.encode()}
    operators = Operators(
        {name: read_native(data) for name, data in texts.items()},
        builds_in("setup.py", SETUP.encode()),
        texts.__getitem__,
    )
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    return operators.fingerprints().of(*found)


def _with(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def _write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The extension of these tests is in the table; chamfer's module stands for one that computes the same."""
    row = Replacement(family="chamfer", function="forward", seen="example/net")
    monkeypatch.setattr(replacements, "_by_digest", lambda: {("pick", _digest()): row})
    replacements.replaced_names.cache_clear()
    yield
    replacements.replaced_names.cache_clear()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("kernel", "replaced"), [(KERNEL, True), (KERNEL.replace("size + pad", "size - pad"), False)])
def test_known_code_under_another_name_is_replaced_under_that_name(tmp_path: Path, kernel: str, replaced: bool) -> None:
    """Projects bind the same code as ``three_nn_wrapper`` and as ``nearestneighbor_cuda``."""
    files = {
        **PROJECT,
        "net/ops/pick.cpp": BINDING.replace('points");\n', 'points");\n    m.def("choose_cuda", &pick);\n'),
        "net/ops/pick.py": WRAPPER.replace("pick_ext.pick(", "pick_ext.choose_cuda("),
        "net/ops/pick_kernel.cu": kernel,
    }
    target = tmp_path / "out"
    npuify.migrate(_write(tmp_path / "in", files), target, REPLACE)
    written = target / "net/ops/npuify_kernels/pick_ext.py"
    assert written.exists() == replaced
    if replaced:
        assert "from .of_chamfer import forward as choose_cuda" in written.read_text()
    assert ("npuify_kernels" in (target / "net/ops/pick.py").read_text()) == replaced


@pytest.mark.usefixtures("known")
def test_a_library_of_torch_needs_the_known_name_too(tmp_path: Path) -> None:
    """Its operators take arguments by the names in their schema."""
    schema = 'm.def("choose(Tensor points, int size, int pad) -> Tensor", &pick);'
    binding = BINDING.replace('m.def("pick", &pick, "pick points");', schema)
    library = binding.replace("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)", "TORCH_LIBRARY(picking, m)")
    library = library.replace(schema, f"{schema}\n    {schema.replace('choose', 'pick')}")
    wrapper = WRAPPER.replace("pick_ext.pick(", "torch.ops.picking.choose(")
    files = {**PROJECT, "net/ops/pick.cpp": library, "net/ops/pick.py": wrapper}
    operators = npuify.scan([_write(tmp_path, files)], Options(cache=False, jobs=1)).survey.operators
    (one,) = [one for one in operators if one.name == "choose"]
    assert (one.calls, one.replacement) == (("net/ops/pick.py:7",), "")


def test_code_with_several_functions_for_it_needs_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Replacement(family="chamfer", function=name, seen="example/net") for name in ("forward", "backward")]
    monkeypatch.setattr(replacements, "_by_digest", lambda: {("one", "0a"): rows[0], ("two", "0a"): rows[1]})
    assert replacements.replacement_of_code("0a") is None
    assert replacements.replacement_of("two", "0a") == rows[1]
    monkeypatch.setattr(replacements, "_by_digest", lambda: {("one", "0a"): rows[0], ("two", "0a"): rows[0]})
    assert replacements.replacement_of_code("0a") == rows[0]
    assert replacements.replacement_of_code("") is None


# --- what is the same, and what is not ---

SAME = {
    "other names": (("index", "i"), ("points", "p"), ("scalar_t* out", "scalar_t* result"), ("out[", "result[")),
    "comments and line breaks": (("// outside there is nothing\n", "/* no */\n\n"), ("return;", "\n  return;")),
    "numbers of threads": (("#define THREADS 256", "#define THREADS 512"), ("dim3 blocks(", "dim3 blocks(1 + ")),
    "newer names of torch": ((".type()", ".scalar_type()"), ("at::zeros_like", "torch::zeros_like")),
    "data pointers": ((".data<", ".data_ptr<"),),
    "no check of errors": (
        ("    cudaError_t err = cudaGetLastError();\n", ""),
        ('    if (cudaSuccess != err) { printf("failed"); exit(-1); }\n', ""),
    ),
    "a check of arguments": (("    int n = points", '    TORCH_CHECK(size > 0, "size");\n    int n = points'),),
    "the default stream": (("    cudaStream_t stream = at::cuda::getCurrentCUDAStream();\n", ""), (", 0, stream", "")),
}
OTHER = {
    "another padding": (("size + pad", "size - pad"),),
    "another border": (("at > -1", "at >= -1"),),
    "another corner": (("- 0.5f", "- 0.0f"),),
    "another constant": (("1e10", "1e9"),),
    "another macro": (("SHARE 3", "SHARE 2"),),
    "sizes that are swapped": (("size, pad, out.data", "pad, size, out.data"),),
    "another result outside": (("0.0f;", "1.0f;"),),
    "another type": (("float at", "int at"),),
    "another beginning": (("at::zeros_like", "at::ones_like"),),
    "one more statement": (("return out;", "out = out * 2;\n    return out;"),),
    "another order of parameters": (("int size, int pad, scalar_t", "int pad, int size, scalar_t"),),
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_a_copy_is_the_same(changes: tuple[tuple[str, str], ...]) -> None:
    assert _digest(_with(KERNEL, *changes)) == _digest()


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_a_variant_is_not(changes: tuple[tuple[str, str], ...]) -> None:
    assert _digest(_with(KERNEL, *changes)) != _digest()


def test_line_ends_count_for_nothing() -> None:
    """A macro over several lines ended with the first of them, where lines end as on Windows."""
    kernel = _with(KERNEL, ("#define CORNER(v) ((v) - 0.5f)", "#define CORNER(v) \\\n  ((v) - 0.5f)"))
    assert _digest(kernel) == _digest()
    assert _digest(kernel.replace("\n", "\r\n"), BINDING.replace("\n", "\r\n")) == _digest()


@pytest.mark.parametrize(
    "change",
    [
        ("return pick_cuda(points, size, pad)", "return pick_cuda(points, pad, size)"),
        ('"pick points"', 'py::arg("points"), py::arg("size"), py::arg("pad") = 0'),
    ],
)
def test_neither_is_another_binding(change: tuple[str, str]) -> None:
    assert _digest(binding=_with(BINDING, change)) != _digest()


TEMPLATE_BINDING = BINDING.replace("at::Tensor pick(const", "template <int N>\nat::Tensor pick(const").replace(
    "&pick,", "&pick<2>,"
)


@pytest.mark.parametrize(
    "handed",
    [
        "&pick<3>",
        "&pick<2, 1>",
        "&pick<NEAR>",
        "static_cast<at::Tensor (*)(at::Tensor, int, int)>(&pick<2>)",
        "[](at::Tensor p, int size, int pad) { return pick<2>(p, size, pad); }",
    ],
)
def test_what_stands_around_the_name_counts(handed: str) -> None:
    """``&f<3>`` was taken for ``&f<2>``, and a lambda that swaps its arguments for one that does not."""
    other = _digest(binding=_with(TEMPLATE_BINDING, ("&pick<2>", handed)))
    assert other not in ("", _digest(binding=TEMPLATE_BINDING), _digest())
    assert _digest(binding=_with(TEMPLATE_BINDING, ("&pick<2>", "& pick< 2 >"))) == _digest(binding=TEMPLATE_BINDING)


def test_a_constant_that_a_template_is_given_counts() -> None:
    given = _with(TEMPLATE_BINDING, ("&pick<2>", "&pick<NEAR>"), ("#include", "#define NEAR 2\n#include"))
    assert _digest(binding=given) not in ("", _digest(binding=_with(given, ("NEAR 2", "NEAR 3"))))


def test_a_lambda_may_swap_what_it_is_given() -> None:
    handed = "[](at::Tensor p, int size, int pad) { return pick(p, size, pad); }"
    straight = _digest(binding=_with(BINDING, ("&pick,", f"{handed},")))
    swapped = _digest(binding=_with(BINDING, ("&pick,", f"{handed},"), ("p, size, pad)", "p, pad, size)")))
    assert len({"", straight, swapped, _digest()}) == 4


_MACRO = """\
#define LAUNCH(CORNERS, size) \\
  pick_kernel<scalar_t><<<1, THREADS>>>(n, CORNERS, size, pad, out.data<scalar_t>())

at::Tensor pick_cuda"""
LAUNCHED_BY_A_MACRO = _with(
    KERNEL,
    (
        (
            "pick_kernel<scalar_t><<<blocks, THREADS, 0, stream>>>"
            "(n, points.data<scalar_t>(), size, pad, out.data<scalar_t>())"
        ),
        "LAUNCH(points.data<scalar_t>(), size)",
    ),
    ("at::Tensor pick_cuda", _MACRO),
)


@pytest.mark.parametrize("change", [("size + pad)", "size - pad)"), ("at > -1", "at >= -1"), ("- 0.5f", "- 0.0f")])
def test_what_a_macro_launches_counts(change: tuple[str, str]) -> None:
    """A kernel that only a macro names could have been any other: its text was the macro's and no more."""
    assert _digest(_with(LAUNCHED_BY_A_MACRO, change)) not in ("", _digest(LAUNCHED_BY_A_MACRO))


def test_what_a_macro_launches_has_to_be_there() -> None:
    text = LAUNCHED_BY_A_MACRO
    assert _digest(text[: text.index("template")] + text[text.index("#define LAUNCH") :]) == ""


def test_a_kernel_that_is_not_there_is_not_known() -> None:
    without = KERNEL[: KERNEL.index("template")] + KERNEL[KERNEL.index("at::Tensor pick_cuda") :]
    assert _digest(without) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("launch(at::cuda::getCurrentCUDAStream(), p + n);", "launch(at::cuda::getCurrentCUDAStream(), p - n);"),
        ("int m = size(getCurrentCUDAStream()) * n;", "int m = size(getCurrentCUDAStream()) + n;"),
        ("if (n < LIMIT) { p[0] = n; }", "if (n < BOUND) { p[0] = n; }"),
        ("p[0] = n * SCALE;", "p[0] = n * SHIFT;"),
        ("p[0] = f(n, m);", "p[0] = f(m, n);"),
        ('throw("a"); p[0] = 1.0f;', 'throw("a"); p[0] = 1.5f;'),
    ],
)
def test_forms_differ(one: str, other: str) -> None:
    """The second was once dropped with the stream, and the names taken for variables."""
    forms = [form_of(f"(float *p, int n, int m) {{ {text} }}") for text in (one, other)]
    assert forms[0][:2] != forms[1][:2]


# --- what stands in types and headers ---

FUNCTOR = """\
#include "detail/share.h"

template <typename T>
struct Shift {
    T by;
    __device__ Shift(T by) : by(by) {}
    __device__ T operator()(T x) const { return x * SHARED_FACTOR + by; }
};

template <typename F>
__global__ void each_kernel(int n, float* p, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = f(p[i]);
}

void shift(at::Tensor points, float by) {
    auto kernel = &each_kernel<Shift<float>>;
    kernel<<<8, 256>>>(points.numel(), points.data_ptr<float>(), Shift<float>(by));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("shift", &shift, "shift points");
}
"""
SHARE_HEADER = "#define SHARED_FACTOR 2\n"


def _digest_of_functor(kernel: str = FUNCTOR, header: str = SHARE_HEADER) -> str:
    texts = {"net/ops/shift.cu": kernel.encode(), "net/ops/include/detail/share.h": header.encode()}
    operators = Operators({name: read_native(data) for name, data in texts.items()}, (), texts.__getitem__)
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    return operators.fingerprints().of(*found)


@pytest.mark.parametrize(
    "change",
    [
        ("+ by; }", "- by; }"),
        ("by(by) {}", "by(by * 2) {}"),
        ("    T by;\n", "    float by;\n"),
        ("f(p[i])", "f(p[n])"),
    ],
)
def test_what_a_functor_computes_counts(change: tuple[str, str]) -> None:
    """Types were once known by their names alone."""
    assert _digest_of_functor()
    assert _digest_of_functor(_with(FUNCTOR, change)) not in ("", _digest_of_functor())


def test_so_does_what_a_header_in_another_folder_says() -> None:
    assert _digest_of_functor(header="#define SHARED_FACTOR 3\n") != _digest_of_functor()


def test_a_kernel_launched_through_a_pointer_has_to_be_there() -> None:
    """Its name alone was once taken for it."""
    start, end = FUNCTOR.index("template <typename F>"), FUNCTOR.index("void shift")
    assert _digest_of_functor(FUNCTOR[:start] + FUNCTOR[end:]) == ""


FUNCTOR_OF_A_TYPE = {
    "net/ops/do.h": """\
#include <torch/extension.h>
namespace functor {
template <typename Device, typename T>
struct Do {
  void operator()(T* p, int n);
};
}
template <typename T>
at::Tensor go(at::Tensor a) {
  functor::Do<GPU, T> functor;
  functor(a.data_ptr<T>(), a.numel());
  return a;
}
""",
    "net/ops/do.cpp": '#include "do.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("go", &go<float>, "go"); }\n',
    "net/ops/do.cu": """\
#include "do.h"
template <typename T> __global__ void do_kernel(T* p, int n) { if (threadIdx.x < n) p[threadIdx.x] += 1; }
namespace functor {
template <typename T>
struct Do<GPU, T> {
  void operator()(T* p, int n) { do_kernel<T><<<1, 1024>>>(p, n); }
};
}
""",
    "setup.py": SETUP.replace("pick_kernel.cu", "do.cu").replace("pick.cpp", "do.cpp").replace("pick_ext", "do_ext"),
}


@pytest.mark.parametrize(
    "change",
    [("+= 1", "+= 2"), ("(p, n); }\n};", "(p, n - 1); }\n};"), ("threadIdx.x < n", "threadIdx.x <= n")],
)
def test_cases_of_a_template_in_another_file_count(change: tuple[str, str]) -> None:
    """spconv's kernels are reached through a template whose case for the GPU no header shows: they were not looked at."""
    changed = {**FUNCTOR_OF_A_TYPE, "net/ops/do.cu": _with(FUNCTOR_OF_A_TYPE["net/ops/do.cu"], change)}
    (one,), (other,) = _digests(FUNCTOR_OF_A_TYPE).values(), _digests(changed).values()
    assert "" not in (one, other)
    assert one != other


def test_what_a_header_binds_belongs_to_the_source_that_includes_it(tmp_path: Path) -> None:
    """Of an extension whose header has the binding the name was not known, and so its calls were not."""
    header = BINDING.replace('"pick points"', '"from a header"').replace("\nPYBIND", "\n#pragma once\nPYBIND")
    files = {
        **PROJECT,
        "net/ops/pick.h": header,
        "net/ops/pick.cpp": '#include "pick.h"\nat::Tensor other(at::Tensor a) { return a; }\n',
        "setup.py": SETUP.replace(
            "setup(", "def make(name, sources):\n    return CUDAExtension(name, ['.'])\n\n\nsetup(", 1
        ),
    }
    found = npuify.scan([_write(tmp_path, files)], Options(cache=False, jobs=1))
    assert [(one.module, one.name, bool(one.calls)) for one in found.survey.operators] == [
        ("net.ops.pick_ext", "pick", True)
    ]


HEADER = """\
#pragma once
#define REACH 3
typedef float real;
struct Window {
    int size;
    __device__ int last() const { return size - 1; }
};
static __constant__ float TAPS[2] = {0.25f, 0.75f};
class Finder {
public:
    static void find(int n, float* out);
};
"""
FINDER = """\
#include "../include/finder.h"
__global__ void find_kernel(int n, real* out) {
    Window window = {n};
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    out[index] = (real) window.last() * REACH * TAPS[1];
}
void Finder::find(int n, float* out) {
    find_kernel << <(n + 255) / 256, 256 >> > (n, out);
}
at::Tensor find_cuda(const at::Tensor& points) {
    auto out = at::zeros_like(points);
    Finder::find(points.numel(), out.data_ptr<float>());
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("find", &find_cuda); }
"""


def _of_finder(header: str = HEADER, code: str = FINDER) -> str:
    texts = {"include/finder.h": header.encode(), "src/finder.cu": code.encode()}
    operators = Operators({name: read_native(data) for name, data in texts.items()}, (), texts.__getitem__)
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    return operators.fingerprints().of(*found)


@pytest.mark.parametrize(
    "change",
    [
        ("#define REACH 3", "#define REACH 4"),
        ("typedef float real", "typedef double real"),
        ("size - 1", "size"),
        ("{0.25f, 0.75f}", "{0.75f, 0.25f}"),
    ],
)
def test_what_a_header_elsewhere_says_counts(change: tuple[str, str]) -> None:
    """Macros, aliases of types, structures and tables lie beside the kernel or behind an include."""
    assert _of_finder()
    assert _of_finder(_with(HEADER, change)) != _of_finder()


def test_a_function_of_a_class_counts() -> None:
    """What stands behind ``::`` was once a name and nothing more: one digest for two kernels."""
    assert _of_finder(code=_with(FINDER, ("* REACH", "+ REACH"))) != _of_finder()


def test_brackets_of_a_launch_may_stand_apart() -> None:
    tight = _with(FINDER, ("<< <(n + 255) / 256, 256 >> >", "<<<(n + 127) / 128, 128>>>"))
    assert _of_finder(code=tight) == _of_finder()
    kernels = [one.calls for one in read_native(FINDER.encode()).functions if one.name == "find"]
    assert "find_kernel" in kernels[0]


def test_a_function_that_is_generated_when_it_is_built_is_not_known() -> None:
    """Its name alone was once taken for it: fairseq's convolutions are made so."""
    declared = FUNCTOR.replace(
        "PYBIND11", "at::Tensor made(at::Tensor a);\n\nat::Tensor call(at::Tensor a) { return made(a); }\n\nPYBIND11"
    )
    assert _digest_of_functor(declared.replace("&shift", "&call")) == ""


def test_functions_of_other_folders_do_not_count() -> None:
    """They did where one of them had the name of a function of torch, and a copy in a larger project was not known."""
    texts = {
        "net/ops/shift.cu": FUNCTOR.encode(),
        "net/ops/include/detail/share.h": SHARE_HEADER.encode(),
        "other/a.cu": b"template <typename T> __global__ void numel(T a) {}\nint blockIdx(int a) { return a; }\n",
        "other/b.cu": b"__global__ void numel(float a) { a = 1; }\nint blockIdx(int a) { return a + 1; }\n",
    }
    operators = Operators({name: read_native(data) for name, data in texts.items()}, (), texts.__getitem__)
    (found,) = [(name, one) for name, file in operators.files.items() for one in file.bindings]
    assert operators.fingerprints().of(*found) == _digest_of_functor()


TWINS = {
    "fused/one.cpp": """
at::Tensor go(at::Tensor a);
at::Tensor call(at::Tensor a) { return go(a); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &call, "one"); }
""",
    "fused/one_cuda.cu": "__global__ void k(float* p) { p[0] = 1; }\nat::Tensor go(at::Tensor a) { k<<<1, 1>>>(a.data_ptr<float>()); return a; }\n",
    "fused/__init__.py": """
from torch.utils import cpp_extension


def load():
    version = cuda_version(cpp_extension.CUDA_HOME)

    def helper(name, sources, flags):
        return cpp_extension.load(name=name, sources=sources, extra_cuda_cflags=flags)

    sources = [path / "one.cpp", path / "one_cuda.cu"]
    one = helper("one_ext", sources, [])
    sources = [path / "two.cpp", path / "two_cuda.cu"]
    two = helper("two_ext", sources, [])
""",
    "use.py": "def first(x):\n    import one_ext\n\n    return one_ext.forward(x)\n",
}
TWINS["fused/two.cpp"] = TWINS["fused/one.cpp"].replace('"one"', '"two"')
TWINS["fused/two_cuda.cu"] = TWINS["fused/one_cuda.cu"].replace("= 1", "= 2")


def _digests(files: Mapping[str, str]) -> dict[str, str]:
    texts = {name: text.encode() for name, text in files.items() if not name.endswith(".py")}
    builds = [one for name, text in files.items() if name.endswith(".py") for one in builds_in(name, text.encode())]
    operators = Operators({name: read_native(data) for name, data in texts.items()}, builds, texts.__getitem__)
    prints = operators.fingerprints()
    return {name: prints.of(name, one) for name, file in operators.files.items() for one in file.bindings}


def test_functions_of_one_name_in_two_extensions_are_told_apart() -> None:
    """Megatron's scaled and triangular softmax, built by a helper, had one digest: either was taken for the other."""
    found = _digests(TWINS)
    assert len({*found.values(), ""}) == 3
    without = {name: text for name, text in TWINS.items() if not name.endswith(".py")}
    assert set(_digests(without).values()) == {""}


BY_KEY = """
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

names = dict(one="one_ext", two="two_ext")
sources = {"one": ["csrc/one.cpp", "csrc/one.cu"], "two": ["csrc/two.cpp"], "three": ["csrc/three.cpp"]}
made = [CUDAExtension(name=names.get(mode, None), sources=sources[mode]) for mode in ("one",)]
"""


def test_extensions_that_are_looked_up_by_a_key() -> None:
    """VMamba's setup.py and those after its example."""
    found = [one for one in builds_in("setup.py", BY_KEY.encode()) if one.module]
    assert {one.module: one.sources for one in found} == {
        "one_ext": ("csrc/one.cpp", "csrc/one.cu"),
        "two_ext": ("csrc/two.cpp",),
    }


# --- what is written ---


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_the_import_changes_and_what_it_needs_is_written(tmp_path: Path, style: str) -> None:
    source, target = _write(tmp_path / "in", PROJECT), tmp_path / "out"
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    npuify.migrate(source, target, options)
    wrapper = (target / "net/ops/pick.py").read_text()
    guarded = "try:\n    from . import pick_ext\nexcept ImportError:\n    from .npuify_kernels import pick_ext\n"
    assert (guarded if style == "portable" else "\nfrom .npuify_kernels import pick_ext\n") in wrapper
    written = target / "net/ops/npuify_kernels"
    assert sorted(path.name for path in written.iterdir()) == ["__init__.py", "of_chamfer.py", "pick_ext.py"]
    assert "from .of_chamfer import forward as pick" in (written / "pick_ext.py").read_text()
    assert all(path.read_text().startswith(f"# {MARK} --replace-kernels") for path in written.iterdir())
    again = npuify.migrate(target, None, options, mode="check")
    assert again.changed_files == ()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("style", ["npu", "portable"])
@pytest.mark.parametrize(
    "import_from", ["from .pick_ext import pick as take", "from net.ops.pick_ext import (\n    pick as take,\n)"]
)
def test_functions_that_are_imported_by_name(tmp_path: Path, style: str, import_from: str) -> None:
    """As most programs with Gaussian splatting do: ``from simple_knn._C import distCUDA2``."""
    wrapper = f"import torch\n\n{import_from}\n\n\ndef pick(points, size):\n    return take(points, size, 0)\n"
    source, target = _write(tmp_path / "in", {**PROJECT, "net/ops/pick.py": wrapper}), tmp_path / "out"
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    npuify.migrate(source, target, options)
    text = (target / "net/ops/pick.py").read_text()
    assert "from .npuify_kernels.pick_ext import pick as take\n" in text
    assert (import_from.splitlines()[0] in text) == (style == "portable")
    compile(text, "pick.py", "exec")
    assert (target / "net/ops/npuify_kernels/pick_ext.py").exists()
    assert npuify.migrate(target, None, options, mode="check").changed_files == ()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        (
            {"run.py": "import sys\nsys.path.append('ops')\nfrom pick import pick\n"},
            "from npuify_kernels import pick_ext as npuify_pick_ext\n",
        ),
        ({"run.py": "from ops.pick import pick\n"}, "from .npuify_kernels import pick_ext as npuify_pick_ext\n"),
        (
            {},
            (
                "try:\n    from .npuify_kernels import pick_ext as npuify_pick_ext\n"
                "except ImportError:\n    from npuify_kernels import pick_ext as npuify_pick_ext\n"
            ),
        ),
    ],
)
def test_a_file_that_builds_the_extension_itself(tmp_path: Path, others: dict[str, str], wanted: str) -> None:
    """How it imports what takes the place depends on how it is imported itself."""
    build = "from torch.utils.cpp_extension import load\n\next = load(name='pick_ext', sources=['ops/pick.cpp', 'ops/pick_kernel.cu'])\n"
    files = {
        "ops/pick.py": f"{build}\n\ndef pick(points):\n    return ext.pick(points, 4, 0)\n",
        "ops/pick.cpp": BINDING,
        "ops/pick_kernel.cu": KERNEL,
        **others,
    }
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    npuify.migrate(source, target, REPLACE)
    text = (target / "ops/pick.py").read_text()
    assert wanted in text
    assert "\next = npuify_pick_ext\n" in text
    assert (target / "ops/npuify_kernels/pick_ext.py").exists()
    assert npuify.migrate(target, None, REPLACE, mode="check").changed_files == ()


@pytest.mark.parametrize("style", ["npu", "portable"])
def test_a_function_that_only_loads_is_left_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    """It asks nvcc before, which is not there."""
    row = Replacement(family="chamfer", function="forward", seen="example/net")
    known = {("forward", digest): row for digest in _digests(TWINS).values()}
    monkeypatch.setattr(replacements, "_by_digest", lambda: known)
    replacements.replaced_names.cache_clear()
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    target = tmp_path / "out"
    npuify.migrate(_write(tmp_path / "in", TWINS), target, options)
    text = (target / "fused/__init__.py").read_text()
    test = "if npuify_one_ext.TAKES_ITS_PLACE:\n        return" if style == "portable" else "return"
    assert f"def load():\n    {test}\n    version" in text
    assert "npuify_kernels import one_ext" in (target / "use.py").read_text()
    assert npuify.migrate(target, None, options, mode="check").changed_files == ()
    only_one = {("forward", _digests(TWINS)["fused/one.cpp"]): row}
    monkeypatch.setattr(replacements, "_by_digest", lambda: only_one)
    npuify.migrate(tmp_path / "in", tmp_path / "other", options)
    assert "def load():\n    version" in (tmp_path / "other/fused/__init__.py").read_text()
    replacements.replaced_names.cache_clear()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("kernel", "replaced"), [(KERNEL, True), (KERNEL.replace("size + pad", "size - pad"), False)])
def test_a_name_with_values_in_it_is_that_of_the_variable(tmp_path: Path, kernel: str, replaced: bool) -> None:
    """RWKV names what it builds after a length."""
    load = "load(name=f'pick_{SIZE}', sources=['ops/pick.cpp', 'ops/pick_kernel.cu'])"
    build = f"from torch.utils.cpp_extension import load\n\nSIZE = 4\next = {load}\n"
    files = {
        "ops/pick.py": f"{build}\n\ndef pick(points):\n    return ext.pick(points, 4, 0)\n",
        "ops/pick.cpp": BINDING,
        "ops/pick_kernel.cu": kernel,
    }
    target = tmp_path / "out"
    npuify.migrate(_write(tmp_path / "in", files), target, REPLACE)
    assert ("\next = npuify_ext\n" in (target / "ops/pick.py").read_text()) == replaced
    assert npuify.migrate(target, None, REPLACE, mode="check").changed_files == ()


IMPORTS = {
    "from": (
        "try:\n    from .pick_ext import \\\n        pick as of_cuda\nexcept ImportError:\n    of_cuda = None\n",
        "    from .npuify_kernels.pick_ext import pick as of_cuda\n",
        "        from .npuify_kernels.pick_ext import pick as of_cuda\n",
    ),
    "importlib": (
        "import importlib\n\npick_ext = importlib.import_module('net.ops.pick_ext')\n\n\ndef f(x):\n    return pick_ext.pick(x, 1, 0)\n",
        "\npick_ext = npuify_pick_ext\n",
        "npuify_pick_ext if npuify_pick_ext.TAKES_ITS_PLACE else importlib.import_module('net.ops.pick_ext')\n",
    ),
}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("style", ["npu", "portable"])
@pytest.mark.parametrize("form", IMPORTS)
def test_other_forms_of_imports(tmp_path: Path, form: str, style: str) -> None:
    """fast-transformers names functions, OpenFold asks importlib."""
    text, npu, portable = IMPORTS[form]
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    target = tmp_path / "out"
    npuify.migrate(_write(tmp_path / "in", {**PROJECT, "net/ops/pick.py": text}), target, options)
    made = (target / "net/ops/pick.py").read_text()
    assert (portable if style == "portable" else npu) in made
    compile(made, "pick.py", "exec")
    assert (target / "net/ops/npuify_kernels/pick_ext.py").exists()
    assert npuify.migrate(target, None, options, mode="check").changed_files == ()


@pytest.mark.usefixtures("known")
def test_what_is_built_where_the_replaced_import_fails_stops_nothing(tmp_path: Path) -> None:
    """The other attempt, which compiles at run time, is not reached any more."""
    again = """\
try:
    from . import pick_ext
except ImportError:
    from torch.utils.cpp_extension import load

    pick_ext = load(name="picking", sources=["pick.cpp", "pick_kernel.cu"])
"""
    source, target = _write(tmp_path / "in", PROJECT), tmp_path / "out"
    _write(source, {"net/ops/pick.py": WRAPPER.replace("from . import pick_ext\n", again)})
    npuify.migrate(source, target, REPLACE)
    for project in (source, target):
        found = npuify.scan([project], REPLACE)
        assert [one.severity.name for one in found.findings if one.code == "NPU632"] == ["INFO"]
    without = npuify.scan([source], Options(cache=False, jobs=1))
    assert [one.severity.name for one in without.findings if one.code == "NPU632"] == ["ERROR"]


BUILT = "load(name='pick_ext', sources=['pick.cpp', 'pick_kernel.cu'])"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
@pytest.mark.parametrize(
    "taken", [f"pick_ext = {BUILT}\n", f"try:\n    import pick_ext\nexcept ImportError:\n    pick_ext = {BUILT}\n"]
)
@pytest.mark.parametrize("kernel", [KERNEL, KERNEL.replace("size + pad", "size - pad")], ids=["known", "another"])
def test_a_scan_says_of_what_is_replaced_what_one_of_the_result_says(
    tmp_path: Path, taken: str, style: str, kernel: str
) -> None:
    text = f"from torch.utils.cpp_extension import load\n\n{taken}\n\ndef pick(points):\n    return pick_ext.pick(points, 4, 0)\n"
    use = "import torch\nfrom pick import pick\n\nprint(pick(torch.ones(3).cuda()))\n"
    files = {"pick.cpp": BINDING, "pick_kernel.cu": kernel, "pick.py": text, "train.py": use}
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    npuify.migrate(source, target, options)
    before, after = (npuify.scan([one], options) for one in (source, target))
    assert judge(before).level is judge(after).level is (Level.REVIEW if kernel == KERNEL else Level.BLOCKED)
    told = [[one.severity for one in scan.findings if one.code == "NPU632"] for scan in (before, after)]
    assert told[0] == told[1]


@pytest.mark.usefixtures("known")
def test_a_file_that_only_sees_whether_it_is_there(tmp_path: Path) -> None:
    """apex's multi_tensor_apply imports amp_C and calls nothing of it."""
    asks = "try:\n    import pick_ext\n\n    THERE = True\nexcept ImportError:\n    THERE = False\n"
    files = {
        **PROJECT,
        "setup.py": SETUP.replace("net.ops.pick_ext", "pick_ext"),
        "net/ops/pick.py": "import pick_ext\n\n\ndef pick(points):\n    return pick_ext.pick(points, 4, 0)\n",
        "net/there.py": asks,
    }
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    npuify.migrate(source, target, REPLACE)
    assert "    from .npuify_kernels import pick_ext\n" in (target / "net/there.py").read_text()
    assert (target / "net/npuify_kernels/pick_ext.py").exists()
    assert npuify.migrate(target, None, REPLACE, mode="check").changed_files == ()


@pytest.mark.usefixtures("known")
def test_another_thing_of_the_same_name_stays(tmp_path: Path) -> None:
    """Settings are called _C in many a project that calls its extension so, too."""
    other = "from .defaults import pick_ext as cfg\n\nprint(cfg.size)\n"
    files = {**PROJECT, "net/config/__init__.py": other, "net/config/defaults.py": "class pick_ext:\n    size = 3\n"}
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    npuify.migrate(source, target, REPLACE)
    assert (target / "net/config/__init__.py").read_text() == other
    assert "npuify_kernels" in (target / "net/ops/pick.py").read_text()


@pytest.mark.usefixtures("known")
def test_a_function_without_a_kernel_is_told_and_fails_when_called(tmp_path: Path) -> None:
    """It is a part of the extension, which is no longer imported."""
    plain = 'm.def("pick", &pick, "pick points");\n    m.def("count", &count, "on the host");'
    binding = _with(BINDING, ("PYBIND11", "int64_t count(int64_t n) { return n + 1; }\n\nPYBIND11"))
    files = {**PROJECT, "net/ops/pick.cpp": _with(binding, ('m.def("pick", &pick, "pick points");', plain))}
    source, target = _write(tmp_path / "in", files), tmp_path / "out"
    npuify.migrate(source, target, REPLACE)
    assert 'MISSING = ("count",)' in (target / "net/ops/npuify_kernels/pick_ext.py").read_text()
    (finding,) = [one for one in npuify.scan([source], REPLACE).findings if one.code == "NPU643"]
    assert "count stays without a replacement" in finding.message


LIBRARY = _with(
    BINDING,
    ("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)", "TORCH_LIBRARY(picking, m)"),
    ('m.def("pick", &pick, "pick points")', 'm.def("pick(Tensor points, int size, int pad) -> Tensor")'),
)
LIBRARY += '\nTORCH_LIBRARY_IMPL(picking, CUDA, m) {\n    m.impl("pick", &pick);\n}\n'
OF_LIBRARY = {
    "net/ops/pick.py": """\
import torch
from torch.utils.cpp_extension import load

load(name="picking", sources=["pick.cpp", "pick_kernel.cu"], is_python_module=False)


def pick(points, size):
    return torch.ops.picking.pick(points, size, 0)
""",
    "net/ops/pick.cpp": LIBRARY,
    "net/ops/pick_kernel.cu": KERNEL,
    "net/ops/__init__.py": "",
    "net/__init__.py": "",
}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_what_is_called_through_torch_ops(tmp_path: Path, style: str) -> None:
    """RWKV's kernels are built without a Python module; no import names them."""
    options = Options(cache=False, jobs=1, replace_kernels=True, style=style)
    source, target = _write(tmp_path / "in", OF_LIBRARY), tmp_path / "out"
    npuify.migrate(source, target, options)
    made = (target / "net/ops/pick.py").read_text()
    assert "from .npuify_kernels import picking as npuify_picking\n" in made
    if style == "npu":
        assert "    return npuify_picking.pick(points, size, 0)" in made
        assert "load(name" not in made
    else:
        chosen = "(npuify_picking if npuify_picking.TAKES_ITS_PLACE else torch.ops.picking).pick(points, size, 0)"
        assert f"    return {chosen}" in made
        assert "npuify_picking if npuify_picking.TAKES_ITS_PLACE else load(" in made
    assert (target / "net/ops/npuify_kernels/picking.py").exists()
    assert npuify.migrate(target, None, options, mode="check").changed_files == ()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "change",
    [
        {"net/ops/pick_kernel.cu": _with(KERNEL, *OTHER["another padding"])},
        {"net/ops/pick.cpp": LIBRARY.replace("size, pad)", "pad, size)")},
        {
            "net/fake.py": '@torch.library.register_fake("picking::pick")\ndef _(points, size, pad):\n    return points\n'
        },
    ],
    ids=["another kernel", "swapped", "registered"],
)
def test_a_library_that_is_another_or_has_more_in_python_stays(tmp_path: Path, change: dict[str, str]) -> None:
    source = _write(tmp_path, {**OF_LIBRARY, **change})
    assert "npuify_kernels" not in npuify.migrate(source, None, REPLACE, mode="diff").diff


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("body", "replaced"),
    [
        ('throw "no GPU";', True),
        ('AT_ERROR("no GPU");', True),
        ('TORCH_CHECK(false, "no GPU");', True),
        ("return points;", False),
        ('if (size) { throw "no GPU"; }\n    return points;', False),
    ],
)
def test_what_is_built_without_cuda_and_only_fails_counts_for_nothing(
    tmp_path: Path, body: str, replaced: bool
) -> None:
    """SRU loads a second library where the first cannot be compiled; each of its operators fails."""
    second = f"""\
#include <torch/extension.h>
at::Tensor pick(const at::Tensor& points, int size, int pad) {{
    {body}
}}
static auto registry = torch::RegisterOperators("picking::pick", &pick);
"""
    first = BINDING[: BINDING.index("PYBIND11")] + 'static auto r = torch::RegisterOperators("picking::pick", &pick);\n'
    text = OF_LIBRARY["net/ops/pick.py"].replace(
        "\n\ndef pick",
        'if not torch.cuda.is_available():\n    load(name="picking", sources=["none.cpp"], is_python_module=False)\n\n\ndef pick',
    )
    files = {**OF_LIBRARY, "net/ops/pick.py": text, "net/ops/pick.cpp": first, "net/ops/none.cpp": second}
    diff = npuify.migrate(_write(tmp_path, files), None, REPLACE, mode="diff").diff
    assert ("+    return npuify_picking.pick(points, size, 0)" in diff) == replaced


@pytest.mark.usefixtures("known")
def test_a_library_under_another_name_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    text = OF_LIBRARY["net/ops/pick.py"].replace("def pick", "PICKING = torch.ops.picking\n\n\ndef pick")
    source, target = _write(tmp_path / "in", {**OF_LIBRARY, "net/ops/pick.py": text}), tmp_path / "out"
    npuify.migrate(source, target, REPLACE)
    assert "PICKING = npuify_picking\n" in (target / "net/ops/pick.py").read_text()


@pytest.mark.usefixtures("known")
def test_a_scan_tells_of_it_and_counts_less(tmp_path: Path) -> None:
    found = npuify.scan([_write(tmp_path, PROJECT)], Options(cache=False, jobs=1))
    (finding,) = [one for one in found.findings if one.code == "NPU630"]
    assert "--replace-kernels" in (finding.advice or "")
    assert not [one for one in found.findings if one.code == "NPU643"]
    replaced = npuify.scan([tmp_path], REPLACE)
    (finding,) = [one for one in replaced.findings if one.code == "NPU643"]
    assert finding.file == "net/ops/pick.py"
    assert [one.has_npu for one in replaced.survey.operators] == [True]


@pytest.mark.usefixtures("known")
def test_a_variant_is_told_and_stays(tmp_path: Path) -> None:
    files = {**PROJECT, "net/ops/pick_kernel.cu": _with(KERNEL, *OTHER["another padding"])}
    result = npuify.migrate(_write(tmp_path, files), None, REPLACE, mode="diff")
    assert "npuify_kernels" not in result.diff
    (finding,) = [one for one in npuify.scan([tmp_path], REPLACE).findings if one.code == "NPU630"]
    assert "its code differs" in (finding.advice or "")


# --- the tables ---


def test_each_function_of_the_tables_exists() -> None:
    for name, family in replacements.families().items():
        text = kernel_text(name).decode()
        for operator in family.operators:
            assert f"\ndef {operator.function}(" in text, (name, operator.function)
            assert operator.copies, (name, operator.name)
        assert all((family.what, family.limits, family.cost))
        test = Path(__file__).parents[3] / family.reference.partition(":")[0]
        assert name in test.read_text(), (name, test)


def test_no_code_is_known_as_two_things() -> None:
    seen: dict[tuple[str, str], str] = {}
    for name, family in replacements.families().items():
        for operator in family.operators:
            for digest in operator.copies:
                assert seen.setdefault((operator.name, digest), name) == name


def test_each_family_is_measured() -> None:
    folder = Path(__file__).parents[3] / "benchmarks"
    names = ("kernel_replacements", "replacement_cases", "sequence_replacements")
    text = "".join((folder / f"{name}.py").read_text() for name in names)
    for name in replacements.families():
        assert f"\ndef {name}(" in text or f'    "{name}": _' in text, name


def test_the_documentation_has_the_table_as_it_is() -> None:
    page = PAGE.read_text("utf-8")
    assert renewed(page) == page, "run python -m tools.replacements"


def test_explain_tells_of_a_family_and_of_a_name() -> None:
    assert npuify.explain("point_sets").kind == "replaced kernels"
    assert any("XPixelGroup/BasicSR" in line for line in npuify.explain("upfirdn2d").text)


RECORDED_DIGESTS = {
    "plain": "0d0cfdad1b073511",
    "functor": "aba1705b4467d7e5",
    "fused/one.cpp": "c1caee994fac3523",
    "fused/two.cpp": "35c91b2b51482b2b",
}


def test_what_digests_are_made_of_is_what_the_tables_were_made_with() -> None:
    """Another digest of the same code takes the tables' worth away in silence.

    Whoever changes it on purpose makes the rows of ``knowledge/data/replacements`` anew from the projects that they
    name (``python -m tools.kernel_digests``), and then these.
    """
    seen = {"plain": _digest(), "functor": _digest_of_functor(), **_digests(TWINS)}
    assert seen == RECORDED_DIGESTS
