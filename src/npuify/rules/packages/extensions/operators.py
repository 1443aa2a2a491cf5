"""The operators of a project's own extensions: from the binding through C++ to the kernels, and to the Python calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.knowledge.third_party.kernels import equivalent_of
from npuify.knowledge.third_party.replacements import (
    launched_as,
    replaced_names,
    replacement_of,
    replacement_of_code,
)
from npuify.language import phrase
from npuify.model import NativeOperator
from npuify.rules.packages.extensions.builds import AT_RUN_TIME
from npuify.rules.packages.extensions.fingerprints import Fingerprints
from npuify.rules.packages.extensions.launches import Launches
from npuify.rules.packages.extensions.op_builders import FOR_NPU
from npuify.rules.packages.extensions.ways import difficulty_of, ways_of_replacement, ways_without_cuda
from npuify.source.native.definitions import included
from npuify.source.native.file import NativeFile
from npuify.source.native.reader import defined_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from npuify.rules.packages.extensions.build import Build
    from npuify.source.native.file import Binding, Function

_NPU_KEYS: Final = frozenset(("NPU", "PrivateUse1", "Ascend", "XLA_NPU"))
_NOT_OF_CUDA: Final = frozenset(("CPU", "Meta", "QuantizedCPU", "MPS", "XPU", "class", *_NPU_KEYS))
"""Keys for which something else than a kernel for GPUs is registered."""
_TELLS: Final = re.compile(r"(?:^|_)(?:get|has|is)_\w*(?:version|cuda|compil|build|size|occupancy|block)")
"""Names of functions that tell something, and compute nothing on a device."""
_LAUNCHES: Final = re.compile(r"cuda|kernel|gpu|launch", re.IGNORECASE)
_OF_CUDA: Final = re.compile(r"^cuda[A-Z]|Stream|Guard|CHECK|^is_cuda$|^cuda$|^CUDA")
"""Names of CUDA and torch themselves."""
_FAILS: Final = re.compile(
    r"\{\s*(?:throw\b[^;{}]*|(?:AT|TORCH)_ERROR\([^;{}]*\)|TORCH_CHECK\(\s*false\b[^;{}]*\));\s*\}\s*$"
)
"""The block of a function that does nothing but fail."""
_REPLACED: Final = frozenset(("elementwise", "cooperative", "library"))
"""Code that is compared with known copies under any name: of templates for tensor cores it takes long, and none is."""
_MOST_STEPS: Final = 400
_MOST_CALLS: Final = 40
_COMMON: Final = frozenset(("forward", "backward", "init", "run", "apply", "main", "launch", "get", "set", "size"))


_OF_MANY_CLASSES: Final = frozenset(
    "at back begin clear contiguous data data_ptr device dim dtype empty end find front get numel options pop push "
    "push_back reset resize scalar_type shape size sizes stride strides type".split()
)
"""Names of methods that tensors, strings and containers have."""


class _Node(NamedTuple):
    file: str
    function: Function


class Operators:
    """All functions of a project's native files, and what reaches what.

    Args:
        files: what was read of each native file, by its path.
        builds: the project's extensions.
        read: gives the text of a native file by its path.
    """

    def __init__(self, files: Mapping[str, NativeFile], builds: Iterable[Build], read: Callable[[str], bytes]) -> None:
        self.files = files
        self._read = read
        given = list(builds)
        self.builds = [build for build in given if build.kind != FOR_NPU]
        self._for_npu = {build.module for build in given if build.kind == FOR_NPU}
        self._by_name: dict[str, list[_Node]] = {}
        self._registered: dict[str, list[tuple[str, str]]] = {}
        for relative, file in files.items():
            for function in file.functions:
                self._by_name.setdefault(function.name, []).append(_Node(relative, function))
            for interface, key, implementation in file.registered:
                self._registered.setdefault(interface, []).append((key, implementation))
        self._prints: Fingerprints | None = None
        self._files_near: dict[str, list[str]] = {}
        self._extensions_of: dict[str, set[Build]] = {}
        self._groups_of = {relative: self._groups(relative) for relative in files}
        for relative, file in files.items():
            if file.bindings and relative.endswith((".h", ".hpp", ".cuh")):
                self._groups_of[relative] = self._groups_with(relative) or self._groups_of[relative]
        self._group_of = {relative: groups[0] if groups else None for relative, groups in self._groups_of.items()}

    def _groups_with(self, header: str) -> list[Build]:
        """The extensions of the sources beside a header that include it: what it binds is theirs."""
        folder, _, last = header.rpartition("/")
        near = [file for file in self.files if file != header and file.rpartition("/")[0] == folder]
        including = (file for file in near if last in {one.rpartition("/")[2] for one in included(self._read(file))})
        found = [build for file in including for build in self._groups_of[file]]
        return [build for place, build in enumerate(found) if build not in found[:place]]

    def _groups(self, relative: str) -> list[Build]:
        """The extensions that a file is a source of; of those that name no sources, the nearest above it.

        Many projects build the same files twice: by setup.py, and by ``load`` where that was not run. The first of the
        list is the one that is installed.
        """
        exact: list[Build] = []
        named: list[tuple[int, Build]] = []
        similar: Build | None = None
        above: tuple[int, Build] | None = None
        for build in self.builds:
            folder = build.file.rpartition("/")[0]
            paths = [source.removeprefix("./") for source in build.sources]
            if relative in {f"{folder}/{path}" if folder else path for path in paths}:
                exact.append(build)
            if similar is None and any("/" in path and f"/{relative}".endswith(f"/{path}") for path in paths):
                similar = build
            if relative.startswith(f"{folder}/" if folder else "") and relative.rpartition("/")[2] in paths:
                # The folders of such a source were put before its name by code.
                named.append((folder.count("/") + bool(folder), build))
            names_none = not any(path.endswith((".cu", ".cpp", ".cc")) for path in paths) and not build.code
            if names_none and (not folder or relative.startswith(folder + "/")):
                depth = folder.count("/") + bool(folder)
                if above is None or depth > above[0]:
                    above = (depth, build)
        if not exact and similar is None and named:
            deepest = max(depth for depth, _ in named)
            exact = [build for depth, build in named if depth == deepest]
        if exact:
            return sorted(exact, key=lambda build: build.kind in AT_RUN_TIME)
        last = similar or (above[1] if above else None)
        return [last] if last is not None else []

    def all(self, calls: Mapping[tuple[str, str], tuple[str, ...]]) -> tuple[NativeOperator, ...]:
        """The operators of the project; ``calls`` are the places that call each, by module and name."""
        merged: dict[tuple[str, str], list[tuple[str, Binding]]] = {}
        for relative, file in self.files.items():
            for binding in file.bindings:
                merged.setdefault((self.module(relative, binding), binding.name), []).append((relative, binding))
        made = []
        for (module, name), places in merged.items():
            found = [calls.get((one, name), ()) for one in self._modules(module, places)]
            made.append(
                self._operator(module, name, places, tuple(dict.fromkeys(place for one in found for place in one)))
            )
        return tuple(sorted(made))

    def _modules(self, module: str, places: list[tuple[str, Binding]]) -> list[str]:
        """The names under which Python may find an operator, that of ``module`` first."""
        others = [
            build.module
            for relative, binding in places
            if binding.module == "TORCH_EXTENSION_NAME" and not binding.library
            for build in self._groups_of.get(relative, ())
        ]
        return list(dict.fromkeys((module, *others)))

    def names(self) -> set[tuple[str, str]]:
        """Module and name of each operator."""
        return {
            (module, binding.name)
            for relative, file in self.files.items()
            for binding in file.bindings
            for module in self._modules(self.module(relative, binding), [(relative, binding)])
        }

    def module(self, relative: str, binding: Binding) -> str:
        """The module under which Python finds a binding."""
        if binding.library:
            return f"torch.ops.{binding.library}"
        if binding.module and binding.module != "TORCH_EXTENSION_NAME":
            return binding.module
        build = self._group_of.get(relative)
        if build is not None:
            return build.module
        inside = [one for one in self.builds if relative.startswith(one.file.rpartition("/")[0])]
        return inside[0].module if len(inside) == 1 else ""

    def _operator(
        self, module: str, name: str, places: list[tuple[str, Binding]], calls: tuple[str, ...]
    ) -> NativeOperator:
        nodes: dict[tuple[str, str, int], _Node] = {}
        has_cpu, has_npu = False, module in self._for_npu
        for relative, binding in places:
            has_cpu = has_cpu or binding.key == "CPU"
            has_npu = has_npu or binding.key in _NPU_KEYS
            reached, keys = self._reached(relative, binding.targets)
            nodes.update(reached)
            has_npu = has_npu or not _NPU_KEYS.isdisjoint(keys)
            has_cpu = has_cpu or "CPU" in keys
        kernels = tuple(sorted({node.function.name for node in nodes.values() if node.function.is_kernel}))
        uses = tuple(sorted({use for node in nodes.values() for use in node.function.uses}))
        names = {node.function.name for node in nodes.values()}
        if not has_cpu and kernels:
            has_cpu = any(re.search(r"(?:^|_)cpu(?:_|$)|CPU", one) for one in names)
        relative, binding = min(places, key=lambda place: (bool(place[1].key), place[0], place[1].line))
        difficulty = difficulty_of(kernels, () if _TELLS.search(name) and not kernels else uses)
        if difficulty == "host" and self._may_launch(relative) and not _TELLS.search(name):
            missing = {one for node in nodes.values() for one in node.function.calls} - self._by_name.keys()
            is_class = all(one.key == "class" for _, one in places)
            elsewhere = not nodes and not is_class and not self._is_plain(places)
            if elsewhere or any(_LAUNCHES.search(one) and not _OF_CUDA.search(one) for one in missing):
                difficulty = "unknown"
        fact = None
        if difficulty != "host":
            targets = [target for _, one in places for target in one.targets]
            plain = f"{module}.{name}" if name not in _COMMON else f"{module}.{name} {module}"
            fact = equivalent_of(plain, *targets, *(kernels[:3] if not targets else ()))
        equivalent = fact.equivalent if fact else ""
        # What is only declared has its code where it is registered for CUDA.
        with_code = [one for one in places if one[1].targets and one[1].key not in _NOT_OF_CUDA] or places
        if len(with_code) > 1:
            with_code = [one for one in with_code if not self._only_fails(*one)] or with_code
        first = (relative, binding)
        relative_of_code, code = first if binding.targets and first in with_code else with_code[0]
        ported = difficulty in _REPLACED
        replacement, differs = self._replacement(relative_of_code, code, by_code=ported)
        others = (one for one in with_code if one[1].module or one[1].library)
        if replacement and any(self._replacement(*one, by_code=ported)[0] != replacement for one in others):
            # Two extensions that a project builds under one name, as the case may be.
            replacement = ""
        if not module:
            replacement = ""  # Nobody knows the import in whose place its module would stand.
        return NativeOperator(
            file=relative,
            line=binding.line,
            name=name,
            module=module,
            difficulty=difficulty,
            kernels=kernels,
            uses=uses,
            has_cpu=has_cpu,
            has_npu=has_npu,
            calls=calls[:_MOST_CALLS],
            equivalent=phrase("{name}: {note}", name=equivalent, note=fact.note) if fact and fact.note else equivalent,
            ways=(
                *(ways_of_replacement(name, replacement, differs) if difficulty != "host" else ()),
                *ways_without_cuda(
                    difficulty, equivalent, has_cpu=has_cpu, has_npu=has_npu, is_called=bool(calls) or not module
                ),
            ),
            replacement=replacement,
        )

    def _only_fails(self, relative: str, binding: Binding) -> bool:
        """Whether what is bound only says that it is not there: in a file that is built where CUDA is missing."""
        found = [text for name, text, _ in defined_functions(self._read(relative)) if name in binding.targets]
        return bool(found) and all(_FAILS.search(text) for text in found)

    def _replacement(self, relative: str, binding: Binding, *, by_code: bool) -> tuple[str, str]:
        """What is proven to compute the same as an operator; else in what it differs from those of its name.

        Args:
            relative: the file that binds it.
            binding: how it is bound.
            by_code: whether code that is known counts under any name, beside an operator whose name is known: comparing
                all code of all projects takes long. A library's operators take arguments by the names of their schema,
                which are not compared: there the name has to be known, too.
        """
        known_name = binding.name in replaced_names()
        by_code = by_code and not binding.library and self._binds_known_names(relative)
        if not known_name and not by_code:
            return "", ""
        if self._prints is None:
            self._prints = self.fingerprints()
        digest = self._prints.of(relative, binding)
        row = replacement_of(binding.name, digest) or (replacement_of_code(digest) if by_code else None)
        if row is None:
            return "", "" if binding.name in _COMMON or not known_name else "code"
        known = launched_as(digest)
        if known and Launches(self._prints).of(relative, binding) not in known:
            return "", "launch"
        return f"{row.family}.{row.function}", ""

    def _binds_known_names(self, relative: str) -> bool:
        """Whether a file binds an operator under the name of one that is replaced, and that not every other has."""
        return any(one.name in replaced_names() - _COMMON for one in self.files[relative].bindings)

    def _reached(self, relative: str, targets: Iterable[str]) -> tuple[dict[tuple[str, str, int], _Node], set[str]]:
        """The functions that ``targets`` reach, and the keys of what is registered on the way."""
        found: dict[tuple[str, str, int], _Node] = {}
        keys: set[str] = set()
        pending = [(relative, target) for target in targets]
        steps = 0
        while pending and steps < _MOST_STEPS:
            steps += 1
            place, name = pending.pop()
            for node in self._resolve(place, name):
                key = (node.file, node.function.name, node.function.line)
                if key not in found:
                    found[key] = node
                    # A tensor's size() is not that of some iterator in another file.
                    pending += [
                        (node.file, called)
                        for called in node.function.calls
                        if called in self._by_name and called not in _OF_MANY_CLASSES
                    ]
                    pending += [(node.file, called) for called in node.function.calls if called in self._registered]
            for dispatch, implementation in self._registered.get(name, ()):
                keys.add(dispatch)
                if dispatch not in _NPU_KEYS and dispatch not in ("MLU", "MPS", "MUSA", "XPU"):
                    pending.append((place, implementation))
        return found, keys

    def fingerprints(self) -> Fingerprints:
        """What computes the digests of this project's operators."""
        return Fingerprints(
            self._read,
            self._meant,
            self._near,
            self._built_with,
            self._macros,
        )

    def _macros(self, place: str) -> Iterable[tuple[str, str]]:
        """What the compiler is told to define for a file: by its extension, or by any where that is not known."""
        groups = self._groups_of.get(place) or self.builds
        return dict.fromkeys(macro for build in groups for macro in build.macros)

    def _built_with(self, place: str) -> Iterable[str]:
        """The files of the extensions whose sources include a header, or of which a file is a source."""
        if not self._extensions_of:
            for file, group in self._group_of.items():
                if group is not None and not file.endswith((".h", ".hpp", ".cuh")):
                    for seen in (file, *self._near(file)):
                        self._extensions_of.setdefault(seen, set()).add(group)
        groups = self._extensions_of.get(place, ())
        return [file for file, group in self._group_of.items() if group in groups] if groups else []

    def _meant(self, place: str, name: str, declared: bool) -> Iterable[str]:
        """The files with the functions of a name that code of one file can see: others may be called the same."""
        known = {node.file for node in self._by_name.get(name, ())}
        if place in known or not known:
            return known & {place}
        seen = known.intersection(self._near(place))
        group = self._group_of.get(place)
        same = {file for file in seen if group is not None and self._group_of.get(file) == group}
        return same or seen or (known if declared else ())

    def _near(self, place: str) -> Iterable[str]:
        """The files whose macros, constants and types a file can mean: those of its extension, folder, headers."""
        if place not in self._files_near:
            folder, group = place.rpartition("/")[0], self._group_of.get(place)
            # What a file includes comes first: another header beside it may have the same names.
            near: dict[str, None] = {}
            pending, seen = [place], {place}
            while pending:
                file = pending.pop(0)
                ends = tuple("/" + header.rpartition("../")[2] for header in included(self._read(file)))
                for found in self.files if ends else ():
                    if found not in seen and f"/{found}".endswith(ends):
                        near[found] = None
                        seen.add(found)
                        pending.append(found)
            near.update((file, None) for file in self.files if file.rpartition("/")[0] == folder)
            if group is not None:
                near.update((file, None) for file in self.files if self._group_of.get(file) == group)
            self._files_near[place] = list(near)
        return self._files_near[place]

    def _is_plain(self, places: list[tuple[str, Binding]]) -> bool:
        """Whether what is bound stands in files of C++ that know neither torch nor CUDA; those are not read closely."""
        targets = [target.encode() for _, binding in places for target in binding.targets]
        nothing = NativeFile()
        plain = [self._read(relative) for relative, file in self.files.items() if file == nothing] if targets else []
        return bool(targets) and all(
            any(re.search(rb"\b" + re.escape(target) + rb"\s*\(", text) for text in plain) for target in targets
        )

    def _may_launch(self, relative: str) -> bool:
        """Whether a file belongs to an extension that is built with CUDA."""
        build = self._group_of.get(relative)
        return build is not None and (
            build.kind == "CUDAExtension" or any(source.endswith((".cu", ".cuh")) for source in build.sources)
        )

    def _resolve(self, place: str, name: str) -> list[_Node]:
        """The functions of a name that code of one file means: its own, its extension's, its folder's, or all."""
        known = self._by_name.get(name, [])
        if len(known) <= 1:
            return known
        own = [node for node in known if node.file == place]
        if own:
            return own
        group = self._group_of.get(place)
        same = [node for node in known if group is not None and self._group_of.get(node.file) == group]
        if same:
            return same
        folder = place.rpartition("/")[0]
        near = [node for node in known if node.file.rpartition("/")[0] == folder]
        return near or known
