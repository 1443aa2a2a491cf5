"""The names of one torch_npu release: which CUDA and NPU names it has, and how they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.hardware.apply import Hardware
from npuify.knowledge.release.imported import LiveFile, correct
from npuify.knowledge.release.signatures import parse_parameters, parse_schema
from npuify.knowledge.schema import NameKind, ReleaseFile, Signature
from npuify.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: dict[str, NameKind] = {
    "M": "module",
    "c": "class",
    "f": "function",
    "m": "method",
    "p": "property",
    "v": "value",
    "t": "tensor type",
    "n": "value",
}


class ReleaseNames:
    """Answers what names there are.

    Names are given in full: ``torch.npu.Event``, ``torch_npu.npu.Event``, ``torch.cuda.Event``. ``torch.npu`` and
    ``torch_npu.npu`` are the same module. Where the imported package was asked, its answer counts for more than its
    files.
    """

    def __init__(self, content: ReleaseFile, live: LiveFile | None = None, hardware: Hardware | None = None) -> None:
        self._stored = content
        self._live = live
        self.hardware = hardware or Hardware("")
        self._content = self.hardware.corrected(content if live is None else correct(content, live))
        self._patched = frozenset(self._content.patched)

    @property
    def torch_npu(self) -> str:
        """The release's version."""
        return self._content.torch_npu.version

    @property
    def torch(self) -> str:
        """The version of torch that belongs to it."""
        return self._content.torch.version

    def evidence(self, name: str) -> Evidence:
        """How it is known whether this NPU name exists."""
        if self.hardware.seen_on(f"names/{npu_module_name(name)}"):
            return Evidence.HARDWARE
        if self._live is None:
            return Evidence.PACKAGE
        module = npu_module_name(name)
        if module in self._live.by_import or module.startswith("torch.ops.npu."):
            return Evidence.LIVE
        while module and module not in self._content.npu:
            module = module.rpartition(".")[0]
        return Evidence.LIVE if module in self._live.names else Evidence.PACKAGE

    @property
    def custom_operators(self) -> Mapping[str, list[str]]:
        """Operator of ``torch.ops.npu``, also an attribute of ``torch_npu`` → its schemas, one per overload."""
        return self._content.custom_operators

    @property
    def patched(self) -> frozenset[str]:
        """Names under ``torch`` that importing torch_npu adds or replaces."""
        return self._patched

    def has(self, name: str) -> bool:
        """Whether this NPU name exists after ``import torch_npu``."""
        return self._find_npu(name) is not None

    def importable(self, name: str) -> bool:
        """As :meth:`has`, but names of modules that have to be imported by name count as well."""
        return self._find_npu(name, importable=True) is not None

    def has_cuda(self, name: str) -> bool:
        """Whether the torch of this release has this CUDA name."""
        return self._find(self._content.cuda, name, attributes_only=False) is not None

    def signature(self, name: str) -> Signature | None:
        """What is known of how a CUDA or NPU name is called; None: there is no such name."""
        operator = name.rpartition(".")[2]
        if name in (f"torch_npu.{operator}", f"torch.ops.npu.{operator}") and operator in self.custom_operators:
            schema = self.custom_operators[operator][0]
            return Signature(name, "function", parse_schema(schema), schema)
        found = self._find_npu(name, importable=True) or self._find(self._content.cuda, name, attributes_only=False)
        if found is None:
            return None
        spec = found[2]
        text = spec[1:]
        return Signature(name, _KINDS[spec[0]], parse_parameters(text[1:-1]) if text else None, text)

    def spellings(self, name: str) -> tuple[str, ...]:
        """``name`` and the place where it is defined: ``torch.cuda.Event`` is ``torch.cuda.streams.Event``."""
        found = self._find(self._content.cuda, name, attributes_only=False)
        if found is None:
            return (name,)
        home = f"{found[0]}.{found[1]}" if found[1] else found[0]
        if home == name:
            # The other way round, for the submodules of torch.cuda: torch.cuda.memory.empty_cache.
            package, _, rest = name.rpartition(".")
            short = f"{package.rpartition('.')[0]}.{rest}"
            other = self._find(self._content.cuda, short, attributes_only=False)
            return (name, short) if other is not None and other[:2] == found[:2] else (name,)
        return (name, home)

    def _find_npu(self, name: str, importable: bool = False) -> tuple[str, str, str] | None:
        if name in self._patched:
            return name, "", "v"
        operator = name.rpartition(".")[2]
        if name in (f"torch_npu.{operator}", f"torch.ops.npu.{operator}") and operator in self.custom_operators:
            return name, "", "f"
        return self._find(self._content.npu, npu_module_name(name), attributes_only=not importable)

    def _find(
        self, tables: Mapping[str, Mapping[str, str]], name: str, *, attributes_only: bool
    ) -> tuple[str, str, str] | None:
        """Module, name in it and spec of what ``name`` leads to.

        It is followed attribute by attribute, as Python does; a name that hides a submodule wins over the submodule.
        """
        found = self._follow(tables, name)
        if found is None and not attributes_only:
            module, _, rest = self._longest_module(tables, name)
            if module is not None:
                found = self._member(tables, module, rest)
        return found

    def _follow(self, tables: Mapping[str, Mapping[str, str]], name: str) -> tuple[str, str, str] | None:
        root = next((r for r in _ROOTS if name == r or name.startswith(r + ".")), None)
        if root is None or root not in tables:
            return None
        module, rest = root, name[len(root) + 1 :]
        while rest:
            head, _, tail = rest.partition(".")
            spec = tables[module].get(head)
            if spec is None:
                return None
            if spec.startswith("="):
                target = spec[1:]
                if target in tables:
                    module, rest = target, tail
                    continue
                return self._member(tables, *self._split(tables, target, tail))
            if spec == "M":
                inner = f"{module}.{head}"
                if inner not in tables:
                    return None if tail else (inner, "", "M")
                module, rest = inner, tail
                continue
            return self._member(tables, module, rest)
        return module, "", "M"

    def _split(self, tables: Mapping[str, Mapping[str, str]], target: str, tail: str) -> tuple[str, str]:
        """Module and member of an alias's target, with the rest of the attributes put behind."""
        module, name = target, ""
        while module not in tables:
            module, _, last = module.rpartition(".")
            name = f"{last}.{name}" if name else last
        return module, f"{name}.{tail}" if tail else name

    def _longest_module(self, tables: Mapping[str, Mapping[str, str]], name: str) -> tuple[str | None, str, str]:
        module, rest = name, ""
        while module:
            if module in tables:
                return module, ".", rest
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return None, "", name

    def _member(self, tables: Mapping[str, Mapping[str, str]], module: str, rest: str) -> tuple[str, str, str] | None:
        for _ in range(10):
            if not rest:
                return module, "", "M"
            spec = tables[module].get(rest)
            if spec is None:
                # A member of something that is an alias itself.
                head, _, tail = rest.partition(".")
                spec = tables[module].get(head)
                if not tail or spec is None or not spec.startswith("="):
                    return None
                module, rest = self._split(tables, spec[1:], tail)
                continue
            if not spec.startswith("="):
                return module, rest, spec
            module, rest = self._split(tables, spec[1:], "")
        return None


_ROOTS = (
    "torch_npu",
    "torch.cuda",
    "torch.accelerator",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.amp",
    "torch._C",
)


def npu_module_name(name: str) -> str:
    """``name`` with the attribute spelling ``torch.npu`` turned into the module that it is."""
    if name == "torch.npu" or name.startswith("torch.npu."):
        return "torch_npu.npu" + name[len("torch.npu") :]
    return name
