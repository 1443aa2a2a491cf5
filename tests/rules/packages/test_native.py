"""C++ and CUDA code: what it defines, what is behind it, who calls it, and what the verdict makes of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npuify
from npuify import knowledge
from npuify.engine import extension_survey
from npuify.knowledge.third_party.kernels import equivalent_of, kernel_facts, triton_facts
from npuify.model import NativeOperator, Safety, Severity
from npuify.options import Options
from npuify.report import render_scan
from npuify.report.verdicts.verdict import Level, judge
from npuify.rules.common.operator_calls import CallSearch
from npuify.rules.packages.extensions.builds import builds_in
from npuify.source.native.reader import read_native

from ...harness import RELEASE, findings, output

ADD = b"""
#include <torch/extension.h>
template <typename T>
__global__ void __launch_bounds__(128) add_kernel(const T* a, T* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // not __shared__
  if (i < n) b[i] += a[i];
}
at::Tensor add_cuda(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add", ([&] {
    add_kernel<scalar_t><<<1, 2, 0, stream>>>(x.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), 3);
  }));
  return x;
}
"""
BINDING = b"""
#include <torch/extension.h>
at::Tensor add_cuda(at::Tensor x);
at::Tensor add_cpu(at::Tensor x) { return x + 1; }
at::Tensor add(at::Tensor x) { if (x.is_cuda()) { return add_cuda(x); } return add_cpu(x); }
at::Tensor version() { return at::ones({1}); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add", &add, "adds" " one");
  m.def("add_fast", [](at::Tensor x) { return add_cuda(x); });
  m.def("version", &version);
}
"""
SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="p", ext_modules=[CUDAExtension("p_ops", ["csrc/bind.cpp", "csrc/add.cu"])], cmdclass={"build_ext": BuildExtension})
"""


def _project(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path


def _operators(tmp_path: Path, files: dict[str, str | bytes]) -> dict[str, NativeOperator]:
    result = npuify.scan([_project(tmp_path, files)], Options(cache=False, jobs=1))
    assert not result.errors
    return {one.name: one for one in result.survey.operators}


EXAMPLE = {
    "setup.py": SETUP,
    "csrc/add.cu": ADD,
    "csrc/bind.cpp": BINDING,
    "p/ops.py": "import p_ops\n\ndef add(x):\n    return p_ops.add(x)\n\n# p_ops.add_fast(x)\n",
}


def test_calls_through_a_function_that_gives_the_module(tmp_path: Path) -> None:
    text = "def backend():\n    import p_ops as found\n    return found\n\n\ndef run(x):\n    return backend().add(x)\n"
    one = _operators(tmp_path, {**EXAMPLE, "p/ops.py": text})["add"]
    assert one.calls == ("p/ops.py:7",)


def test_calls_are_not_denied_where_the_module_has_no_known_name(tmp_path: Path) -> None:
    loader = "import plugins\n\nmine = plugins.get('ops', ['csrc/bind.cpp', 'csrc/add.cu'])\ny = mine.add(1)\n"
    files: dict[str, str | bytes] = {"csrc/add.cu": ADD, "csrc/bind.cpp": BINDING, "ops.py": loader}
    assert not any("skip the build" in way for way in _operators(tmp_path, files)["add"].ways)
    found = npuify.scan([tmp_path], Options(cache=False, jobs=1)).findings
    (one,) = [one for one in found if one.subject == "add"]
    assert one.severity is Severity.WARNING
    assert one.message.endswith("; the name under which Python loads it is unknown, so its calls were not searched for")


def _computed(name: str, how: str) -> dict[str, str | bytes]:
    """A project that gives its extension the name ``name``, an expression, and imports by the code ``how``."""
    setup = SETUP.replace('"p_ops"', name)
    files = {**EXAMPLE, "setup.py": setup, "p/version.py": "VERSION = '1.2'\nCUDA = f'p_ops_{VERSION[0]}'\n"}
    return {**files, "p/__init__.py": "", "p/ops.py": how, "train.py": "import torch\nimport p.ops\n"}


_BY_IMPORT = "import importlib\nfrom p.version import CUDA\n"


@pytest.mark.parametrize(
    ("name", "how", "calls"),
    [
        ("CUDA", f"{_BY_IMPORT}ops = importlib.import_module(CUDA)\nadd = ops.add\n", ("p/ops.py:4",)),
        ("f'p_ops_{v}'", f"{_BY_IMPORT}def load():\n    return importlib.import_module(CUDA)\n", ("p/ops.py:4",)),
        ("CUDA", f"{_BY_IMPORT}def load():\n    return importlib.import_module(CUDA)\n", ("p/ops.py:4",)),
        ("f'p_ops_{v}'", "ops = __import__('p_ops_%s' % w)\nadd = getattr(ops, 'add')\n", ("p/ops.py:2",)),
        ("'p_ops_{}'.format(v)", "import importlib\nimportlib.import_module('p_' + 'ops_' + w)\n", ("p/ops.py:2",)),
        ("f'p_ops_{v}'", "from importlib import import_module\nimport_module('p_ops_3').add(1)\n", ("p/ops.py:2",)),
        ("name_of(v)", "import importlib\nops = importlib.import_module(n)\nops.add(1)\n", ("p/ops.py:3",)),
        ("'p_ops'", "import importlib\nimportlib.import_module(f'{start}_ops').add(1)\n", ("p/ops.py:2",)),
        ("p + '._C'", "from . import _C\n\ndef add(x):\n    return _C.add(x)\n", ("p/ops.py:4",)),
        # Plugins, registries and the like.
        ("name_of(v)", "import importlib\nmodel = importlib.import_module(f'models.{n}')\nmodel.build(1)\n", ()),
        ("f'p_ops_{v}'", "import importlib\nmodel = importlib.import_module(f'models.{n}')\nmodel.build(1)\n", ()),
        ("f'p_ops_{v}'", "import importlib\nmodel = importlib.import_module('models.add_' + n).add\n", ()),
        ("'p_ops'", "import importlib\nimportlib.import_module(f'models.{n}').add(1)\n", ()),
        ("'p_ops'", "import importlib\nimportlib.import_module(n).add(1)\n", ()),
        ("name", "import importlib\n\ndef load(name):\n    return importlib.import_module(name)\n", ()),
    ],
)
def test_imports_under_a_computed_name(tmp_path: Path, name: str, how: str, calls: tuple[str, ...]) -> None:
    assert _operators(tmp_path, _computed(name, how))["add"].calls == calls
    (program,) = judge(npuify.scan([tmp_path], Options(cache=False, jobs=1))).programs
    assert (program.level is Level.BLOCKED) == bool(calls)


def test_a_variable_that_is_given_to_setup_and_import_by_executing_a_file(tmp_path: Path) -> None:
    execute = "exec(open('p/version.py').read())\n"
    guarded = "try:\n    ops = importlib.import_module(CUDA)\n    add = ops.add\nexcept ImportError:\n    print('no')\n"
    how = f"import importlib\n{execute}{guarded}"
    result = npuify.scan([_project(tmp_path, _computed("CUDA", how))], Options(cache=False, jobs=1))
    (program,) = judge(result).programs
    assert program.level is Level.BLOCKED
    (blocker,) = program.blockers
    assert [(one.file, one.line) for one in blocker.places] == [("p/ops.py", 5)]


def test_a_changed_name_in_another_file_shows_in_a_cached_scan(tmp_path: Path) -> None:
    how = "import importlib\nimportlib.import_module(f'p_ops_{n}')\n"
    root = _project(tmp_path, _computed("CUDA", how))
    options = Options(jobs=1)

    def called() -> bool:
        return any(one.calls for one in npuify.scan([root], options).survey.operators)

    assert called()
    (root / "p/version.py").write_text("CUDA = f'other_{1}'\n")
    assert not called()


# --- one file ---


def test_a_kernel_and_the_function_that_launches_it() -> None:
    found = {one.name: one for one in read_native(ADD).functions}
    assert found["add_kernel"].is_kernel
    assert found["add_kernel"].uses == ()
    assert found["add_kernel"].line == 4
    assert "add_kernel" in found["add_cuda"].calls


@pytest.mark.parametrize(
    ("code", "use"),
    [
        (b"__shared__ float s[32];", "shared"),
        (b"v += __shfl_down_sync(m, v, 1);", "warp"),
        (b"atomicAdd(p, 1);", "atomic"),
        (b"wmma::mma_sync(a, b, c, d);", "tensor core"),
        (b'asm volatile("mov.u32 %0, 1;" : "=r"(x));', "assembly"),
        (b"cublasGemmEx(handle);", "cuBLAS"),
        (b"cudnnConvolutionForward(h);", "cuDNN"),
        (b"thrust::sort(a, b);", "Thrust"),
        (b"cub::DeviceReduce::Sum(a, b);", "CUB"),
        (b"float x = a[i]; /* __shared__ */ // atomicAdd(", ""),
    ],
)
def test_what_code_uses(code: bytes, use: str) -> None:
    (function,) = read_native(b"#include <ATen/ATen.h>\n__global__ void k(float* a) { " + code + b" }").functions
    assert function.uses == ((use,) if use else ())


def test_bindings_of_pybind() -> None:
    bindings = read_native(BINDING).bindings
    assert [(one.module, one.name, one.line) for one in bindings] == [
        ("TORCH_EXTENSION_NAME", "add", 8),
        ("TORCH_EXTENSION_NAME", "add_fast", 9),
        ("TORCH_EXTENSION_NAME", "version", 10),
    ]
    assert bindings[0].targets == ("add",)
    assert "add_cuda" in bindings[1].targets


def test_bindings_of_torch_library() -> None:
    bindings = read_native(
        b"""
        TORCH_LIBRARY(mine, m) { m.def("op(Tensor x) -> Tensor"); m.def("other", &other_impl); m.class_<Thing>("Thing"); }
        TORCH_LIBRARY_IMPL(mine, CUDA, m) { m.impl("op", &op_cuda); }
        TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("mine::op", TORCH_FN(op_cpu)); }
        """
    ).bindings
    assert [(one.library, one.name, one.targets, one.key) for one in bindings] == [
        ("mine", "op", (), ""),
        ("mine", "other", ("other_impl",), ""),
        ("mine", "op", ("op_cuda",), "CUDA"),
        ("mine", "op", ("op_cpu",), "CPU"),
    ]


REGISTERING = [
    'static auto registry = torch::RegisterOperators("lib::add", &add_cuda);',
    'static auto registry = torch::RegisterOperators().op("lib::add", &add_cuda);',
    'static auto registry =\n    torch::RegisterOperators()\n        .op("lib::other", &other)\n        .op("lib::add", &add_cuda);',
    'static torch::RegisterOperators registry("lib::add(Tensor x) -> Tensor", &add_cuda);',
    'static auto registry = torch::jit::RegisterOperators("lib::add", &add_cuda);',
    'static auto registry = c10::RegisterOperators().op("lib::add(Tensor x) -> Tensor", &here::add_cuda);',
    (
        'static auto registry = c10::RegisterOperators().op("lib::add", torch::RegisterOperators::options()'
        ".kernel<decltype(add_cuda), &add_cuda>(c10::DispatchKey::CUDA));"
    ),
]


@pytest.mark.parametrize("code", REGISTERING)
def test_bindings_by_objects(code: str) -> None:
    found = [one for one in read_native(b"#include <torch/script.h>\n" + code.encode()).bindings if one.name == "add"]
    (binding,) = found
    assert (binding.library, binding.module, binding.targets) == ("lib", "", ("add_cuda",))
    assert binding.key == ("CUDA" if "DispatchKey" in code else "")


@pytest.mark.parametrize(
    "code",
    [
        '// torch::RegisterOperators("lib::add", &add_cuda);',
        'void f() { other.op("lib::add", &add_cuda); }',
        'static auto x = RegisterOperatorsOfMine("lib::add", &add_cuda);',
        'static auto x = torch::RegisterOperators("no_library", &add_cuda);',
        "static auto x = torch::RegisterOperators(NAME, &add_cuda);",
    ],
)
def test_no_bindings_by_objects(code: str) -> None:
    assert not read_native(b"// RegisterOperators\n#include <torch/script.h>\n" + code.encode()).bindings


AUTOGRAD = """
#include <torch/script.h>
at::Tensor add_cuda(at::Tensor x);
at::Tensor plain(at::Tensor x) { return x + 1; }
class Add : public torch::autograd::Function<Add> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *ctx, at::Tensor x) { return {add_cuda(x)}; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx, torch::autograd::variable_list g) { return g; }
};
class Plain : public torch::autograd::Function<Plain> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *ctx, at::Tensor x) { return {plain(x)}; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx, torch::autograd::variable_list g) { return g; }
};
at::Tensor add(at::Tensor x) { return Add::apply(x)[0]; }
at::Tensor one(at::Tensor x) { return Plain::apply(x)[0]; }
static auto registry = torch::RegisterOperators().op("lib::add", &add).op("lib::one", &one);
"""


def test_an_autograd_function_of_c_is_followed_to_its_kernel(tmp_path: Path) -> None:
    """So torch_scatter's operators are written: ``apply`` of a class runs its two methods."""
    setup = SETUP.replace("csrc/bind.cpp", "csrc/reg.cpp")
    (tmp_path / "csrc").mkdir()
    (tmp_path / "setup.py").write_text(setup)
    (tmp_path / "csrc/reg.cpp").write_text(AUTOGRAD)
    (tmp_path / "csrc/add.cu").write_bytes(ADD)
    (tmp_path / "run.py").write_text("import torch\n\nprint(torch.ops.lib.add(torch.ones(2).cuda()))\n")
    operators = {one.name: one for one in npuify.scan([tmp_path], Options(cache=False, jobs=1)).survey.operators}
    assert operators["add"].kernels == ("add_kernel",)
    assert operators["add"].module == "torch.ops.lib"
    assert operators["add"].calls == ("run.py:3",)
    assert operators["one"].difficulty == "host"


def test_a_kernel_that_a_macro_hides_from_the_grammar_is_found() -> None:
    code = b"#include <ATen/ATen.h>\nSTRANGE_MACRO(T, ({)\n__global__ void hidden(float* a) { __syncthreads(); if (a) { a[0] = 1; } }\n"
    assert [(one.name, one.is_kernel, one.uses) for one in read_native(code).functions] == [
        ("hidden", True, ("shared",))
    ]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(BINDING + ADD)), st.binary(max_size=12))
def test_broken_code_is_no_error(at: int, junk: bytes) -> None:
    whole = BINDING + ADD
    read_native(whole[:at])
    read_native(whole[:at] + junk + whole[at:])


# --- builds ---


@pytest.mark.parametrize(
    ("code", "module", "sources"),
    [
        ("CUDAExtension('a', ['x.cpp', 'y.cu'])", "a", ("x.cpp", "y.cu")),
        ("CppExtension(name='a.b', sources=['x.cpp'])", "a.b", ("x.cpp",)),
        ("N = 'q'\nCUDAExtension(name=N + '._C', sources=glob())", "q._C", ()),
        ("make = CUDAExtension\nmake('a', [])", "a", ()),
        ("make_cuda_ext(name='v', module='p.ops', sources=['s/a.cpp'])", "p.ops.v", ("s/a.cpp", "p/ops/s/a.cpp")),
        ("load(name='j', sources=['k.cu'])", "j", ("k.cu",)),
    ],
)
def test_builds(code: str, module: str, sources: tuple[str, ...]) -> None:
    (build,) = builds_in("setup.py", f"from torch.utils.cpp_extension import *\n{code}\n".encode())
    assert (build.module, build.sources) == (module, sources)


@pytest.mark.parametrize(
    "code", ["Extension ('a', ['x.c'])", "make = Extension\nmake('a', ['x.c'])", "Extension \\\n('a', ['x.c'])"]
)
def test_builds_without_torch(code: str) -> None:
    (build,) = builds_in("setup.py", f"from setuptools import Extension, setup\n{code}".encode())
    assert (build.module, build.sources) == ("a", ("x.c",))


def test_a_word_in_a_comment_is_not_parsed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuify.rules.packages.extensions.builds.ast.parse", lambda *_: pytest.fail("was parsed"))
    assert builds_in("a.py", b'"""An Extension of the model, by Extensions."""\n# the Extension is told\n') == []


@pytest.mark.parametrize("code", ["import cpp_extension\nload('x')", "Extension(", "json.load(sources=3)"])
def test_what_builds_nothing(code: str) -> None:
    assert builds_in("a.py", code.encode()) == []


# --- calls ---


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("import p_ops\np_ops.add(1)\nx = p_ops . add", [2, 3]),
        ("import p_ops as o\no.add(1)", [2]),
        ("from p import p_ops\np_ops.add(1)", [2]),
        ("from p_ops import (\n    other,\n    add,\n)\n", [1]),
        ("ext = loader.load_ext('p_ops', ['add'])\next.add(1)", [2]),
        ("# p_ops.add(1)", []),
        ("import my_p_ops\nmy_p_ops.add(1)", []),
        ("import p_ops\np_ops.addition(1)\nother.add(2)", []),
    ],
)
def test_calls(code: str, lines: list[int]) -> None:
    found = CallSearch([("p_ops", "add")]).places("a.py", code.encode())
    assert sorted({int(place.rpartition(":")[2]) for _, place in found}) == lines


def test_calls_of_a_torch_library() -> None:
    search = CallSearch([("torch.ops.mine", "op")])
    assert search.places("a.py", b"import torch\ntorch.ops.mine.op(x)\nmine.op(x)") != []
    assert search.places("a.py", b"mine.op(x)") == []


# --- a project ---


def test_an_operator_is_followed_to_its_kernel_and_its_callers(tmp_path: Path) -> None:
    found = _operators(tmp_path, EXAMPLE)
    add = found["add"]
    assert (add.module, add.file, add.line) == ("p_ops", "csrc/bind.cpp", 8)
    assert (add.difficulty, add.kernels, add.has_cpu, add.has_npu) == ("elementwise", ("add_kernel",), True, False)
    assert add.calls == ("p/ops.py:4",)
    assert any("--cpu-fallback" in way for way in add.ways)
    assert found["add_fast"].calls == ()
    assert found["version"].difficulty == "host"


BUILDER = """
from .builder import {base}

class AddBuilder({base}):
    NAME = "add"

    def __init__(self):
        super().__init__(name=self.NAME)

    def absolute_name(self):
        return f"project.ops.{{self.NAME}}_op"

    def sources(self):
        return {sources}
"""


@pytest.mark.parametrize("beside", ["p_ops.py", "p/p_ops.py"])
def test_a_module_of_the_extensions_name_takes_its_place(tmp_path: Path, beside: str) -> None:
    files = {"csrc/add.cu": ADD, "csrc/bind.cpp": BINDING, "setup.py": SETUP}
    caller = {"p/ops.py": "import p_ops\n\n\ndef f(x): return p_ops.add(x)\n"}
    assert _operators(tmp_path / "before", files | caller)["add"].calls == ("p/ops.py:4",)
    replaced = {beside: "def add(x):\n    return x + x\n"}
    assert _operators(tmp_path / "after", files | caller | replaced)["add"].calls == ()


@pytest.mark.parametrize(
    "load",
    ["AddBuilder().load()", 'accelerator().create_op_builder("AddBuilder").load()', "builders.AddBuilder(1).load()"],
)
def test_builders_that_are_classes(tmp_path: Path, load: str) -> None:
    files = {
        "op_builder/add.py": BUILDER.format(base="CUDAOpBuilder", sources='["csrc/bind.cpp", "csrc/add.cu"]'),
        "csrc/add.cu": ADD,
        "csrc/bind.cpp": BINDING,
        "project/ops.py": f"def f(x):\n    module = {load}\n    return module.add(x)\n",
        "project/other.py": "def f(x, module):\n    return module.add(x)\n",
    }
    add = _operators(tmp_path, files)["add"]
    assert (add.module, add.kernels, add.calls) == ("project.ops.add_op", ("add_kernel",), ("project/ops.py:3",))
    assert not add.has_npu
    files["op_builder/npu/add.py"] = BUILDER.format(base="NPUOpBuilder", sources="[]")
    assert _operators(tmp_path, files)["add"].has_npu


@pytest.mark.parametrize(
    "text",
    [
        BUILDER.format(base="object", sources='["a.cu"]'),
        BUILDER.format(base="CUDAOpBuilder", sources="[]"),
        "class A(OpBuilder):\n    def sources(self):\n        return ['a.cu']\n",
        "class A(OpBuilder):\n    NAME = name()\n    def sources(self): pass\n    def absolute_name(self): return x.y\n",
    ],
)
def test_classes_that_build_nothing_known(text: str) -> None:
    assert builds_in("op_builder/add.py", text.encode() + b"# OpBuilder") == []


def test_methods_of_tensors_lead_nowhere(tmp_path: Path) -> None:
    files = {
        **EXAMPLE,
        "csrc/other.h": b"__global__ void k() { __syncthreads(); }\nint scalar_type() { k<<<1, 1>>>(); return 1; }",
    }
    assert _operators(tmp_path, files)["add"].kernels == ("add_kernel",)


def test_the_finding_and_the_verdict(tmp_path: Path) -> None:
    result = npuify.scan([_project(tmp_path, EXAMPLE)], Options(cache=False, jobs=1, select=("NPU630",)))
    assert [(one.subject, one.severity) for one in result.findings] == [
        ("p_ops.add", Severity.ERROR),
        ("p_ops.add_fast", Severity.INFO),
    ]
    assert "p/ops.py:4" in result.findings[0].message
    verdict = judge(result)
    assert verdict.level is Level.BLOCKED
    assert verdict.blockers[0].what == "p_ops: 1 CUDA operator (add)"
    assert [part.name for part in verdict.estimate.parts if "CUDA" in part.name] == ["CUDA operators, elementwise"]
    content = json.loads(render_scan(result, "json"))
    assert content["verdict"]["survey"]["operators"][0]["kernels"] == ["add_kernel"]


def test_registered_implementations(tmp_path: Path) -> None:
    library = b"""
    #include <torch/extension.h>
    Tensor op_impl(Tensor x) { return DISPATCH_DEVICE_IMPL(op_impl, x); }
    Tensor op(Tensor x) { return op_impl(x); }
    PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("op", &op); }
    """
    cuda = b"""
    #include <torch/extension.h>
    __global__ void op_kernel(float* a) { __shared__ float s[2]; }
    Tensor op_cuda(Tensor x) { op_kernel<<<1, 1>>>(x.data_ptr<float>()); return x; }
    REGISTER_DEVICE_IMPL(op_impl, CUDA, op_cuda);
    """
    npu = b"#include <torch/extension.h>\nTensor op_npu(Tensor x) { return x; }\nREGISTER_NPU_IMPL(op_impl, op_npu);\n"
    files: dict[str, str | bytes] = {"setup.py": SETUP, "csrc/bind.cpp": library, "csrc/add.cu": cuda}
    one = _operators(tmp_path / "a", files)["op"]
    assert (one.difficulty, one.kernels, one.has_npu) == ("cooperative", ("op_kernel",), False)
    two = _operators(tmp_path / "b", {**files, "csrc/npu.cpp": npu})["op"]
    assert two.has_npu


def test_plain_code_in_an_extension_with_kernels_is_no_operator_of_cuda(tmp_path: Path) -> None:
    bound = BINDING.replace(
        b'm.def("version"', b'm.def("score", &eval::score, "scores");\n  m.def("gone", &eval::gone);\n  m.def("version"'
    )
    plain = b'#include "eval.h"\nnamespace eval {\ndouble score(const std::vector<double>& x) { return x[0]; }\n}\n'
    found = _operators(tmp_path, {**EXAMPLE, "csrc/bind.cpp": bound, "csrc/eval.cpp": plain})
    assert found["score"].difficulty == "host"
    assert found["gone"].difficulty == "unknown"


def test_same_names_in_two_extensions_are_kept_apart(tmp_path: Path) -> None:
    shared = ADD.replace(b"int i =", b"__shared__ float s[2]; int i =")
    files: dict[str, str | bytes] = {
        "a/setup.py": SETUP.replace("p_ops", "a_ops"),
        "a/csrc/bind.cpp": BINDING,
        "a/csrc/add.cu": ADD,
        "b/setup.py": SETUP.replace("p_ops", "b_ops"),
        "b/csrc/bind.cpp": BINDING,
        "b/csrc/add.cu": shared,
    }
    result = npuify.scan([_project(tmp_path, files)], Options(cache=False, jobs=1))
    found = {(one.module, one.name): one.difficulty for one in result.survey.operators}
    assert found["a_ops", "add"] == "elementwise"
    assert found["b_ops", "add"] == "cooperative"


def test_projects_without_kernels_have_no_operators(tmp_path: Path) -> None:
    assert (
        _operators(tmp_path, {"a.py": "import torch\n", "tool.cpp": b"#include <torch/torch.h>\nint main() {}\n"}) == {}
    )


def _aged(project: Path) -> Path:
    """Files that are older than what a cache distrusts, with times of change that differ where what they hold does."""
    for path in project.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 1_000_000_000 + crc32(path.read_bytes()) % 500_000_000))
    return project


@pytest.mark.parametrize("files", [EXAMPLE, {"a.py": "import torch\n", "tool.cu": "int main() {}\n"}])
def test_a_second_scan_takes_what_it_knows(
    files: dict[str, str | bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    project = _aged(_project(tmp_path / "p", files))
    first = npuify.scan([project], Options(jobs=1))

    def fail(location: str) -> bytes:
        raise AssertionError(f"read again: {location}")

    monkeypatch.setattr(extension_survey, "_bytes", fail)
    second = npuify.scan([project], Options(jobs=1))
    assert second.survey == first.survey
    assert second.findings == first.findings


@pytest.mark.parametrize(
    "changed",
    [
        {"model.py": "import torch\n"},
        {"more.py": "import p_ops\np_ops.add(x)\n"},
        {"csrc/bind.cpp": BINDING.replace(b'"add_fast"', b'"other"')},
        {"csrc/bind.cpp": b"int main() {}\n"},
        {"setup.py": SETUP.replace("p_ops", "q_ops")},
        {"setup.py": "from setuptools import setup\nsetup()\n"},
    ],
)
def test_a_change_shows_in_what_a_cached_scan_says_of_operators(
    changed: dict[str, str | bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    project = _aged(_project(tmp_path / "p", {**EXAMPLE, "p/later.py": "import p_ops\np_ops.other(x)\n"}))
    before = npuify.scan([project], Options(jobs=1))
    _aged(_project(project, changed))
    for _ in range(2):
        cached = npuify.scan([project], Options(jobs=1))
        assert cached == npuify.scan([project], Options(jobs=1, cache=False))
    assert cached.survey != before.survey


# --- tables ---


def test_names_of_torch_npu_in_the_table_exist() -> None:
    import re

    table = knowledge.load(RELEASE)
    for row in kernel_facts():
        for name in re.findall(r"torch_npu(?:\.\w+)+", f"{row.equivalent} {row.note}"):
            assert table.has(name), name


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("fused_layer_norm_cuda.forward_affine", "layer_norm"),
        ("amp_C.multi_tensor_adam", "AdamW"),
        ("flash_attn_2_cuda.varlen_bwd", "npu_fusion_attention"),
        ("_ext.ball_query_forward", "mx_driving"),
        ("bnp.bn_bwd_nhwc", None),
        ("some.unheard_of", None),
    ],
)
def test_equivalents(name: str, wanted: str | None) -> None:
    row = equivalent_of(name)
    assert (row is None) if wanted is None else (row is not None and wanted in row.equivalent)


# --- builds while the program runs, CMake ---


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("load_inline(name='x', cpp_sources='int f();', cuda_sources='__global__ void k() {}')", Severity.ERROR),
        ("load(name='x', sources=['a.cpp', 'b.cu'])", Severity.ERROR),
        ("load(name='x', sources=['a.cpp'])", None),
        ("load(name='x', sources=files)", Severity.INFO),
        ("if torch.cuda.is_available():\n    load(name='x', sources=['b.cu'])", Severity.INFO),
    ],
)
def test_extensions_compiled_at_run_time(code: str, severity: Severity | None) -> None:
    text = f"import torch\nfrom torch.utils.cpp_extension import load, load_inline\n{code}\n"
    found = [one.severity for one in findings(text) if one.code == "NPU632"]
    assert found == ([] if severity is None else [severity])


def test_operators_of_code_in_a_python_file_are_told() -> None:
    text = """
import torch
from torch.utils.cpp_extension import load_inline
head = "at::Tensor twice(at::Tensor x); at::Tensor total(at::Tensor x); at::Tensor plain(at::Tensor x) { return x; }"
code = '''
__global__ void twice_kernel(float* x) { x[threadIdx.x] *= 2; }
__global__ void total_kernel(float* x) { __shared__ float s[32]; x[0] += __shfl_down_sync(~0u, s[1], 1); }
at::Tensor twice(at::Tensor x) { twice_kernel<<<1, 32>>>(x.data_ptr<float>()); return x; }
at::Tensor total(at::Tensor x) { total_kernel<<<1, 32>>>(x.data_ptr<float>()); return x; }
'''
ops = load_inline(name="inline_ops", cpp_sources=[head], cuda_sources=[code], functions=["twice", "total", "plain"])
ops.twice(torch.ones(3))
"""
    (found,) = (one for one in findings(text) if one.code == "NPU632")
    assert "; total: threads cooperate through shared memory or warps (shared, warp), no call" in found.message
    assert "; twice: each thread computes independently" in found.message
    assert "called in line 12" in found.message
    assert "plain:" not in found.message


def test_files_that_are_built_twice_belong_to_what_is_installed(tmp_path: Path) -> None:
    # The one file builds when there is nothing installed; it comes first by name.
    found = _operators(
        tmp_path,
        {
            "backend.py": "from torch.utils.cpp_extension import load\n"
            "ops = load(\n    name='jit_ops',\n    sources=['csrc/bind.cpp', 'csrc/add.cu'],\n)\nops.add_fast(1)\n",
            "csrc/bind.cpp": BINDING,
            "csrc/add.cu": ADD,
            "setup.py": SETUP,
            "use.py": "import p_ops\np_ops.add(1)\n",
        },
    )
    assert {one.module for one in found.values()} == {"p_ops"}
    assert found["add"].calls == ("use.py:2",)
    assert found["add_fast"].calls == ("backend.py:6",)


def test_sources_whose_folder_code_puts_before_them(tmp_path: Path) -> None:
    sources = "sources=[os.path.join(here, 'src', name) for name in ['bind.cpp', 'add.cu']]"
    found = _operators(
        tmp_path,
        {
            "enc/backend.py": f"import os\nfrom torch.utils.cpp_extension import load\n_b = load(name='_jit', {sources})\n",
            "enc/setup.py": f"import os\nfrom torch.utils.cpp_extension import CUDAExtension\nCUDAExtension(name='_enc', {sources})\n",
            "enc/src/bind.cpp": BINDING,
            "enc/src/add.cu": ADD,
            "enc/use.py": "try:\n    import _enc as _b\nexcept ImportError:\n    from .backend import _b\n_b.add(1)\n",
            "other/src/bind.cpp": "int bind;",
        },
    )
    assert {one.module for one in found.values()} == {"_enc"}
    assert found["add"].calls == ("enc/use.py:5",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("project(x LANGUAGES CXX CUDA)\n", ["error"]),
        ("find_package(CUDAToolkit REQUIRED)\n", ["error"]),
        ("find_package(CUDA QUIET)\n", ["warning"]),
        ("option(WITH_CUDA on)\nif(WITH_CUDA)\n  enable_language(CUDA)\nendif()\n", ["warning"]),
        ("if(A)\nendif()\ncuda_add_library(x a.cu)\n", ["error"]),
        ("# find_package(CUDA)\nproject(cuda_free CXX)\n", []),
    ],
)
def test_cmake(text: str, found: list[str]) -> None:
    assert [one.severity.value for one in findings(text, name="CMakeLists.txt")] == found


# --- Triton ---


def _kernel(body: str) -> list[tuple[str, str]]:
    text = f"import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, n: tl.constexpr):\n    x = tl.load(p)\n{body}\n"
    return [(one.severity.value, one.message) for one in findings(text) if one.code == "NPU640"]


@pytest.mark.parametrize(
    ("body", "severity", "names"),
    [
        ("    tl.store(p, x * 2)", "info", ""),
        ("    y = tl.inline_asm_elementwise('', '', [x], tl.int32, True, 1)", "error", "tl.inline_asm_elementwise"),
        ("    y = x.to(tl.float8e4nv)", "error", "tl.float8"),
        ("    y = x.to(tl.uint64)", "warning", "tl.uint"),
        ("    y = tl.sort(x)", "warning", "tl.sort"),
        ("    tl.atomic_cas(p, 0, 1)", "info", ""),
        ("    for i in range(n):\n        tl.atomic_cas(p, 0, 1)", "warning", "tl.atomic_cas"),
        ("    tl.atomic_add(p, x)", "info", ""),
        ("    y = tl.atomic_add(p, x)", "warning", "tl.atomic_add"),
    ],
)
def test_triton_kernels_are_judged(body: str, severity: str, names: str) -> None:
    ((found, message),) = _kernel(body)
    assert found == severity
    assert names in message


def test_a_function_that_is_no_kernel_is_not_judged() -> None:
    found = findings("import triton\n\ndef jit(f): return f\n\n@jit\ndef k(p):\n    'triton.jit'\n")
    assert "NPU640" not in [one.code for one in found]


def test_devices_around_a_kernel_are_migrated() -> None:
    text = "import torch, triton\nx = torch.ones(4, device='cuda')\n"
    assert "device='npu'" in output(text)


def test_what_asks_tritons_driver_for_a_gpu() -> None:
    text = "import triton\nDEVICE = triton.runtime.driver.active.get_active_torch_device()\n"
    assert [one.severity.value for one in findings(text) if one.code == "NPU641"] == ["error"]


def test_every_row_about_triton_says_what_to_do() -> None:
    for row in triton_facts().values():
        assert row.message.endswith(".")
        assert row.advice.endswith(".")


def test_edits_of_builds_are_safe() -> None:
    (found,) = [one for one in findings(SETUP, name="setup.py") if one.code == "NPU631"]
    assert found.safety is Safety.SAFE


PLUGIN = """\
import torch
from . import custom_ops

_plugin = None


def _init():
    global _plugin
    if _plugin is None:
        _plugin = custom_ops.get_plugin("bias_act", sources=["bias_act.cpp", "bias_act.cu"])

    return _plugin is not None


def bias_act(x, impl="cuda"):
    if {test} and _init():
        return _plugin.bias_act(x)
    return x + 1
"""


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
@pytest.mark.parametrize("test", ["x.device.type == 'cuda'", "x.is_cuda", "impl and x.device.type == 'cuda'"])
def test_a_gate_before_a_cuda_build_is_none_for_an_npu(test: str, style: str) -> None:
    """An NPU that went through it would try to build CUDA code; what follows without it is right for every device."""
    text = PLUGIN.format(test=test)
    assert test + " and _init()" in output(text, style=style)
    other = text.replace("bias_act.cu", "bias_act.cc")
    assert test + " and _init()" not in output(other, style=style) or (style == "auto" and "is_cuda" in test)


TUNED = """\
import torch
import triton
import triton.language as tl


def configs(limits):
    return [triton.Config({}, num_warps=4, maxnreg=one) for one in limits]


@triton.autotune(configs=[triton.Config({"B": 8}, maxnreg=64), triton.Config({"B": 16}, maxnreg=None)], key=["n"])
@triton.jit
def scale(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def run(x):
    scale[(1,)](x, 8)


run(torch.ones(8).cuda())
"""


def test_an_argument_that_triton_ascend_does_not_know() -> None:
    """It raises KeyError where the kernel is launched, also while it is tuned."""
    found = [(one.start.line, one.severity.name) for one in findings(TUNED) if one.subject == "maxnreg"]
    assert found == [(7, "WARNING"), (10, "ERROR")]
    assert [one.start.line for one in findings(TUNED) if one.subject == "num_warps"] == [7]
