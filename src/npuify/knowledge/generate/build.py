"""Put the parts of a release file together."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from ..schema import FORMAT
from .modules import Binding, Reader, assigned_names, import_closure
from .native import CLASS_MEMBERS, library_functions, library_members, mentioned
from .operators import read_operators
from .patches import patched_names, transfer_modules, transfer_patches
from .surface import class_members, parameters, stub_classes, stub_functions, surface

if TYPE_CHECKING:
    from .wheel import Wheel

_CUDA_ROOTS = ("torch.cuda", "torch.accelerator", "torch.backends.cuda", "torch.backends.cudnn", "torch.amp")
_NPU_ROOTS = (
    "torch_npu",
    "torch_npu.contrib",
    "torch_npu.contrib.function",
    "torch_npu.contrib.module",
    "torch_npu.distributed",
    "torch_npu.distributed.distributed_c10d",
    "torch_npu.dynamo",
    "torch_npu.optim",
    "torch_npu.profiler",
    "torch_npu.utils",
    "torch_npu.utils.cpp_extension",
)
_BIND_STUBS = ("_cuda", "_Cuda", "_CUDA", "_cudnn", "_nccl", "_nvtx", "_cublas")


def build(torch: Wheel, npu: Wheel, generator: str) -> bytes:
    """The content of the release file: JSON, sorted, one line per table entry."""
    stub_text = torch.text("torch/_C/__init__.pyi")
    stubs = stub_classes(stub_text)
    reader = Reader([npu, torch])

    # Modules below _init run their functions on import, and find each other by walking the folder.
    roots = ["torch_npu", *sorted(_with_submodules(npu, ("torch_npu._init",)))]
    loaded = import_closure(reader, roots, ("torch_npu._init",))
    _add_names_set_elsewhere(reader, loaded)
    operators, custom = read_operators(npu)
    cuda_modules = _with_submodules(torch, _CUDA_ROOTS)
    npu_modules = _npu_modules(npu, cuda_modules)

    cuda = surface(
        reader,
        cuda_modules,
        loaded=cuda_modules,
        private=lambda module: module.startswith("torch.cuda"),
        stubs=stubs,
    )
    native = _native_functions(stub_text, stubs)
    if native:
        cuda["torch._C"] = native
    names = surface(
        reader,
        npu_modules,
        loaded=loaded & npu_modules,
        private=lambda module: module.startswith("torch_npu.npu"),
        stubs=stubs,
    )
    _add_native_members(reader, npu, loaded, names)
    for operator in custom:  # each is an attribute of torch_npu; its schema says more than an entry here could
        names["torch_npu"].pop(operator, None)

    content = {
        "format": FORMAT,
        "generator": generator,
        "torch_npu": {"version": npu.version, "wheel": npu.path.name, "sha256": npu.sha256()},
        "torch": {"version": torch.version.partition("+")[0], "wheel": torch.path.name, "sha256": torch.sha256()},
        "cuda": cuda,
        "npu": names,
        "not_imported": sorted(npu_modules - loaded),
        "patched": patched_names(reader, loaded),
        "transfer_patches": transfer_patches(reader, npu),
        "transfer_modules": transfer_modules(reader),
        "operators": operators,
        "custom_operators": custom,
    }
    return to_json(content)


def to_json(content: dict[str, object]) -> bytes:
    """JSON with one module, operator or list per line, so that versions can be compared with ordinary tools."""
    lines = []
    for key, value in content.items():
        if isinstance(value, dict) and key not in ("torch", "torch_npu"):
            rows = [f"{_dump(k)}:{_dump(value[k])}" for k in sorted(value)]
            lines.append(f"{_dump(key)}:{{\n" + ",\n".join(rows) + "}")
        else:
            lines.append(f"{_dump(key)}:{_dump(value)}")
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


def _dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _with_submodules(wheel: Wheel, roots: tuple[str, ...]) -> set[str]:
    out: set[str] = set()
    queue = [root for root in roots if wheel.has_module(root)]
    while queue:
        module = queue.pop()
        if module not in out:
            out.add(module)
            if wheel.is_package(module):
                queue += wheel.submodules(module)
    return out


def _npu_modules(npu: Wheel, cuda_modules: set[str]) -> set[str]:
    """``torch_npu.npu`` with its public submodules, the private ones that torch.cuda has as well, and other roots."""
    out = {root for root in _NPU_ROOTS if npu.has_module(root)}
    for module in _with_submodules(npu, ("torch_npu.npu",)):
        private = any(part.startswith("_") for part in module.split("."))
        if not private or module.replace("torch_npu.npu", "torch.cuda") in cuda_modules:
            out.add(module)
    return out


def _add_names_set_elsewhere(reader: Reader, loaded: set[str]) -> None:
    """Names such as ``torch_npu.Format``, which other modules of the package assign, or export through tables."""
    for module in loaded:
        tree = reader.tree(module)
        if tree is None:
            continue
        for name, value in assigned_names(tree, "torch_npu"):
            owner, _, attribute = name.rpartition(".")
            if reader.exists(owner):
                binding = Binding("value", node=value)
                if isinstance(value, ast.Name):
                    binding = Binding("from", module, value.id)
                reader.add(owner, attribute, binding)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign) or module != "torch_npu._init.core._exports":
                continue
            target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Dict):
                _add_lazy_symbols(reader, node.value)
            elif (
                isinstance(target, ast.Subscript)
                and isinstance(target.value, ast.Name)
                and target.value.id == "globals_dict"
                and isinstance(target.slice, ast.Constant)
                and isinstance(target.slice.value, str)
                and not target.slice.value.startswith("__")
            ):
                reader.add("torch_npu", target.slice.value, Binding("native"))


def _add_lazy_symbols(reader: Reader, table: ast.Dict) -> None:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple) and len(value.elts) == 2:
            parts = [e.value for e in value.elts if isinstance(e, ast.Constant)]
            if len(parts) == 2 and all(isinstance(p, str) for p in parts):
                reader.add("torch_npu", str(key.value), Binding("from", str(parts[0]), str(parts[1])))


def _native_functions(text: str | None, stubs: dict[str, ast.ClassDef]) -> dict[str, str]:
    """Functions and classes of ``torch._C`` that concern CUDA, from the stub file."""
    out = {n: f"f({parameters(f)})" for n, f in stub_functions(text).items() if any(w in n for w in _BIND_STUBS)}
    for name, node in stubs.items():
        if any(word in name for word in _BIND_STUBS):
            out[name] = "c"
            out.update({f"{name}.{member}": spec for member, spec in class_members(node).items()})
    return out


def _add_native_members(reader: Reader, npu: Wheel, loaded: set[str], names: dict[str, dict[str, str]]) -> None:
    used = mentioned(reader, loaded | {"torch_npu.contrib.transfer_to_npu"}, "torch_npu")
    names["torch_npu._C"] = {
        rest: "n" for name in used if name.startswith("torch_npu._C.") and (rest := name[len("torch_npu._C.") :])
    }
    for function in library_functions(npu):
        names["torch_npu._C"].setdefault(function, "n")
    for cls, members in library_members(npu).items():
        short = cls.rpartition(".")[2]
        names["torch_npu._C"].setdefault(short, "n")
        for member in members:
            names["torch_npu._C"].setdefault(f"{short}.{member}", "p")
    for cls in CLASS_MEMBERS:
        for where, node_names in _subclasses(reader, names, cls).items():
            for name in node_names:
                for member in library_members_of(names, cls):
                    names[where].setdefault(f"{name}.{member}", "p")
    for module, entries in names.items():
        for name, spec in list(entries.items()):
            if spec == "n" and module != "torch_npu._C":
                entries.update(dict.fromkeys(_members_used(used, module, name), "p"))


def _members_used(used: set[str], module: str, name: str) -> list[str]:
    """``ProfilerActivity.NPU`` and the like: members of a C++ name that the package's own code uses."""
    prefix = f"{module}.{name}."
    return [u[len(module) + 1 :] for u in used if u.startswith(prefix) and "." not in u[len(prefix) :]]


def library_members_of(names: dict[str, dict[str, str]], cls: str) -> list[str]:
    """The members recorded for the C++ class ``cls``."""
    prefix = cls.rpartition(".")[2] + "."
    return [n[len(prefix) :] for n in names["torch_npu._C"] if n.startswith(prefix)]


def _subclasses(reader: Reader, names: dict[str, dict[str, str]], cls: str) -> dict[str, list[str]]:
    """Classes of the listed modules, defined there, that derive from the C++ class ``cls``."""
    out: dict[str, list[str]] = {}
    for module, entries in names.items():
        for name, spec in entries.items():
            if not spec.startswith("c") or "." in name:
                continue
            if _derives(reader, module, name, cls):
                out.setdefault(module, []).append(name)
    return out


def _derives(reader: Reader, module: str, name: str, cls: str) -> bool:
    where, _, binding = reader.resolve(module, name)
    if not isinstance(binding.node, ast.ClassDef):
        return False
    for base in binding.node.bases:
        if ast.unparse(base) == cls:
            return True
        if isinstance(base, ast.Name) and base.id != name and _derives(reader, where, base.id, cls):
            return True
    return False
