"""Which names of torch are gone from which release: ``python -m tools.torch_names [--wheels FOLDER] [--output FILE]``.

Wheels are downloaded with pip one after another, read, and thrown away; nothing of them is imported or run. A name
counts as gone where no file of the release binds it, and where the function that has it does nothing but raise. What
takes its place is no matter of this table; that is ``removed.toml``, by hand.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.generate.modules import Binding, Reader
from npuify.knowledge.generate.surface import parameters, stub_classes, stub_functions
from npuify.knowledge.generate.wheel import Wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OUTPUT = Path("src/npuify/knowledge/data/torch_names.json")


class Release(NamedTuple):
    """A release of torch, and the tags of its smallest wheel: the Python files of all its wheels are the same."""

    version: str
    python: str
    abi: str
    platforms: tuple[str, ...]


_ARM = ("macosx_11_0_arm64",)
_NEWER_ARM = ("macosx_11_0_arm64", "macosx_14_0_arm64")
RELEASES = (
    Release("1.0.1", "3.7", "none", ("macosx_10_7_x86_64",)),
    Release("1.1.0", "3.5", "none", ("macosx_10_6_x86_64",)),
    Release("1.4.0", "3.5", "none", ("macosx_10_6_x86_64",)),
    Release("1.6.0", "3.6.8", "none", ("macosx_10_9_x86_64",)),
    Release("1.8.1", "3.9", "cp39", ("manylinux2014_aarch64",)),
    Release("1.10.0", "3.8", "none", _ARM),
    Release("1.12.0", "3.7", "none", _ARM),
    Release("1.13.1", "3.7", "none", _ARM),
    Release("2.0.1", "3.10", "none", _ARM),
    Release("2.1.0", "3.10", "none", _ARM),
    Release("2.2.0", "3.10", "none", _ARM),
    Release("2.3.1", "3.10", "none", _ARM),
    Release("2.4.0", "3.10", "none", _ARM),
    Release("2.5.1", "3.10", "none", _ARM),
    Release("2.6.0", "3.10", "none", _ARM),
    Release("2.7.1", "3.10", "none", _ARM),
    Release("2.8.0", "3.10", "none", _ARM),
    Release("2.9.0", "3.10", "none", _ARM),
    Release("2.10.0", "3.10", "none", _ARM),
    Release("2.11.0", "3.10", "cp310", _NEWER_ARM),
    Release("2.12.0", "3.10", "cp310", _NEWER_ARM),
    Release("2.13.0", "3.10", "cp310", _NEWER_ARM),
    Release("2.14.0", "3.10", "cp310", _NEWER_ARM),
)
"""Old ones that projects ask for, then one for each torch that a torch_npu release is made for."""

_OWN_BUSINESS = re.compile(
    r"torch\.(testing|_inductor|_dynamo|_refs|_prims|_prims_common|_decomp|_export|_higher_order_ops|_functorch|_meta_registrations|_subclasses|"
    r"_library|_numpy|_lazy|_dispatch|_ops|_logging|_strobelight|_vendor|_classes|_custom_ops?|_native|compiler|"
    r"export|package|contrib|csrc|lib|bin|include|share|test|for_onnx|quantization\.|ao\.|ao$|onnx\.|fx\.(?!node|graph)|"
    r"jit\._|distributed\._|distributed\.pipeline|distributed\.elastic|distributed\.checkpoint|utils\.(?!data|checkpoint|"
    r"cpp_extension|tensorboard|model_zoo|mkldnn|bundled|dlpack|hooks|file_baton|mobile_optimizer)|profiler\._|mtia|xpu|"
    r"cuda|backends\.(?!cudnn|cuda|mkl$)|masked|sparse\._|sparse\.semi|accelerator|monitor|futures|special$|types|"
    r"nn\.intrinsic|nn\.qat|nn\.quant|nn\.attention|nn\.utils\._|distributed\.(tensor|fsdp|algorithms|nn|optim|rpc|launcher)\b)"
)
"""Modules of which no program but torch uses anything, and those that other tables hold (torch.cuda)."""


class Spec(NamedTuple):
    """What a release says of a name."""

    kind: str
    parameters: tuple[str, ...] | None = None
    """None where they cannot be read, or any name is taken."""


def surface(wheel: Wheel) -> dict[str, Spec]:
    """The names of a release, by their full names."""
    reader = Reader([wheel])
    found: dict[str, Spec] = {}
    for module in _modules(wheel):
        if _OWN_BUSINESS.match(module) or reader.tree(module) is None:
            continue
        found[module] = Spec("module")
        for name in list(reader.namespace(module).names):
            if name.startswith("__"):
                continue
            spec = _spec(reader, wheel, module, name)
            if spec is not None:
                found.setdefault(f"{module}.{name}", spec)
    found.update(_native(wheel, found))
    found.update({f"torch.Tensor.{name}": spec for name, spec in _tensor_methods(wheel, reader).items()})
    return found


def _modules(wheel: Wheel) -> Iterator[str]:
    queue = ["torch"]
    while queue:
        module = queue.pop()
        yield module
        queue += wheel.submodules(module)


def _spec(reader: Reader, wheel: Wheel, module: str, name: str) -> Spec | None:
    namespace = reader.namespace(module)
    if namespace.names[name].kind in ("from", "module") and not wheel.is_package(module):
        # What a module imports for itself is there, but not its own; a package shows what it imports.
        if name not in (namespace.all or ()):
            return Spec("imported")
    where, _, binding = reader.resolve(module, name)
    if binding.kind == "module":
        return Spec("module") if binding.module.startswith("torch.") else None
    if binding.kind == "native":
        return Spec("native") if where.startswith("torch") else None
    return _of_binding(binding)


def _of_binding(binding: Binding) -> Spec | None:
    node = binding.node
    if isinstance(node, ast.FunctionDef):
        return None if _only_raises(node) else Spec("function", _parameters(node))
    if isinstance(node, ast.ClassDef):
        made = next((i for i in node.body if isinstance(i, ast.FunctionDef) and i.name == "__init__"), None)
        return Spec("class", _parameters(made, drop_first=True) if made is not None else None)
    return Spec("value")


def _only_raises(node: ast.FunctionDef) -> bool:
    """Whether a function is what was left of one that is gone: it only says what to use."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    return "NotImplemented" not in ast.unparse(body[0])


def _parameters(node: ast.FunctionDef, *, drop_first: bool = False) -> tuple[str, ...] | None:
    if node.args.kwarg is not None or any(
        isinstance(d, ast.Call) and "deprecat" in ast.unparse(d.func) for d in node.decorator_list
    ):
        return None
    text = parameters(node, drop_first=drop_first)
    names = [part.strip() for part in re.sub(r"=[^,]*(?:\([^)]*\)|\[[^]]*\])?[^,]*", "", text).split(",")]
    return tuple(name for name in names if name.isidentifier())


_STUBS = ("torch/_C/_VariableFunctions.pyi", "torch/__init__.pyi", "torch/_C/__init__.pyi")


def _native(wheel: Wheel, known: dict[str, Spec]) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for path in _STUBS:
        text = wheel.text(path)
        if text is None:
            continue
        nodes = [*stub_functions(text), *stub_classes(text)]
        if path.endswith("VariableFunctions.pyi"):
            nodes += [m.name for c in stub_classes(text).values() for m in c.body if isinstance(m, ast.FunctionDef)]
        for name in nodes:
            if not name.startswith("_") and known.get(f"torch.{name}", Spec("native")).kind in ("native", "value"):
                found[f"torch.{name}"] = Spec("native")
    return found


def _tensor_methods(wheel: Wheel, reader: Reader) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for path in ("torch/__init__.pyi", "torch/_C/__init__.pyi"):
        for name, node in stub_classes(wheel.text(path)).items():
            if name in ("Tensor", "_TensorBase", "TensorBase"):
                for i in node.body:
                    if isinstance(i, ast.FunctionDef):
                        found[i.name] = Spec("native")
                    elif isinstance(i, ast.AnnAssign) and isinstance(i.target, ast.Name):
                        found[i.target.id] = Spec("value")
    gone = set()
    for module in ("torch.tensor", "torch._tensor"):
        for item in getattr(reader.tree(module), "body", ()):
            if isinstance(item, ast.ClassDef) and item.name == "Tensor":
                for member in item.body:
                    if isinstance(member, ast.FunctionDef):
                        found[member.name] = Spec("function", _parameters(member, drop_first=True))
                        if _calls_only_what_raises(reader, member):
                            gone.add(member.name)
    return {name: spec for name, spec in found.items() if not name.startswith("_") and name not in gone}


def _calls_only_what_raises(reader: Reader, node: ast.FunctionDef) -> bool:
    """Whether a method does nothing but call a function that only raises (``Tensor.symeig``)."""
    last = node.body[-1]
    call = last.value if isinstance(last, ast.Return) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    for item in ast.walk(node):
        if isinstance(item, ast.ImportFrom) and item.level and item.module:
            for alias in item.names:
                if (alias.asname or alias.name) == call.func.id:
                    _, _, binding = reader.resolve(f"torch.{item.module}", alias.name)
                    return isinstance(binding.node, ast.FunctionDef) and _only_raises(binding.node)
    return False


_NOT_TOLD_BY_FILES = frozenset(
    (
        "torch._C",
        "torch.ExcludeDispatchKeyGuard",
        "torch.Storage",
        "torch.Tensor.T",
        "torch.Tensor.grad",
        "torch.autograd.function._ContextMethodMixin",
        "torch.multiprocessing.Pool",
        "torch.multiprocessing.Queue",
        "torch.multiprocessing.SimpleQueue",
        "torch.nn.functional.threshold",
        "torch.nn.parallel.deprecated",
        "torch._jit_internal.BuiltinUnionType",
        "torch.sym_sum(args)",
        "torch.utils.cpp_extension.BuildExtension",
        "torch.utils.data.datapipes._typing.hook_iterator",
    )
)
"""Names that are there when torch is imported although no file says so; a test holds the table against the package."""


_OF_NO_PROGRAM = re.compile(
    r"torch\.(numa|onnx\.symbolic_opset|distributed\.(pipelining|flight_recorder|debug)|nested\._|mps\._)"
)


def removed(surfaces: Sequence[tuple[str, dict[str, Spec]]]) -> dict[str, list[str]]:
    """Name, or ``name(parameter)`` → the last release read that has it, and the first that has not.

    A name that comes back later is not gone. What lies in a module that is gone is not listed besides it.
    """
    newest = surfaces[-1][1]
    last: dict[str, int] = {}
    for index, (_, names) in enumerate(surfaces):
        for name in names:
            last[name] = index
    gone = {
        name: index
        for name, index in last.items()
        if name not in newest
        and name not in _NOT_TOLD_BY_FILES
        and not _OF_NO_PROGRAM.match(name)
        and surfaces[index][1][name].kind != "imported"
    }
    found = {}
    for name, index in sorted(gone.items()):
        parent = name.rpartition(".")[0]
        if parent not in gone or gone[parent] > index:
            found[name] = [surfaces[index][0], surfaces[index + 1][0]]
    found.update(_changed(surfaces))
    return dict(sorted(found.items()))


def _changed(surfaces: Sequence[tuple[str, dict[str, Spec]]]) -> Iterator[tuple[str, list[str]]]:
    """Parameters that are gone, and functions whose name is a module's now (``torch.fft``), as ``name()``."""
    for (before, old), (after, new) in zip(surfaces, surfaces[1:], strict=False):
        newest = surfaces[-1][1]
        for name, spec in old.items():
            now, end = new.get(name), newest.get(name)
            if now is None or end is None or _OF_NO_PROGRAM.match(name):
                continue
            if spec.kind in ("function", "native") and now.kind == "module" == end.kind:
                yield f"{name}()", [before, after]
            if f"{name}(args)" in _NOT_TOLD_BY_FILES:
                continue
            if (
                name.startswith("torch.jit.")
                or spec.parameters is None
                or now.parameters is None
                or end.parameters is None
            ):
                continue
            for parameter in spec.parameters:
                if parameter not in now.parameters and parameter not in end.parameters:
                    yield f"{name}({parameter})", [before, after]


def _download(release: Release, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--implementation", "cp", "--python-version", release.python, "--abi", release.abi]
    command += [word for platform in release.platforms for word in ("--platform", platform)]
    subprocess.run([*command, "--dest", str(folder), f"torch=={release.version}"], check=True)
    return next(folder.glob(f"torch-{release.version}-*.whl"))


def _read(release: Release, wheels: Path | None) -> dict[str, Spec]:
    with tempfile.TemporaryDirectory() as temporary:
        path = next(wheels.glob(f"torch-{release.version}-*.whl"), None) if wheels is not None else None
        wheel = Wheel(path or _download(release, Path(temporary)))
        try:
            return surface(wheel)
        finally:
            wheel.close()


def main() -> int:
    """Read all releases and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.torch_names", description=__doc__)
    parser.add_argument("--wheels", type=Path, help="a folder with wheels; those that it lacks are downloaded")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args()
    surfaces = []
    for release in RELEASES:
        names = _read(release, given.wheels)
        print(f"torch {release.version}: {len(names)} names", file=sys.stderr)
        surfaces.append((release.version, names))
    rows = [f" {json.dumps(name)}: {json.dumps(when)}" for name, when in removed(surfaces).items()]
    given.output.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
