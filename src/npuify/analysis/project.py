"""What a rule may know of the project's other files: its modules, their re-exports, and who defines ``cuda``."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from npuify.analysis.files import SEARCHED, FileModel
from npuify.analysis.own_cuda import OwnCuda, own_cuda_in
from npuify.analysis.texts.index import TextIndex
from npuify.project.content import content
from npuify.project.frameworks.tensorflow import Marks
from npuify.project.import_graph import LIBRARIES
from npuify.project.programs import beside
from npuify.source.python import PythonSource
from npuify.source.text import UnreadableText
from npuify.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from npuify.source.python.scopes import Binding


T = TypeVar("T")
_MAX_HOPS = 16
_MOST_KEPT = 700_000
"""Bytes of text that were parsed of the files that are kept; their trees take up to fifty times as much."""
_AT_LEAST = 4_000
"""Bytes that a file counts as, however little of it was parsed."""
_MEASURED = 16
"""Files that are loaded between two measurements of those that are kept."""
_UNPARSED = 16
"""Bytes of a file's text that count as one that was parsed."""
EVERY_FILE = "*"
"""Stands for all of a project's modules among the files that something depends on."""
IMPORTS = "?import"
"""Stands there for what all modules import."""
_TESTS = frozenset(("test", "tests", "testing", "unit_tests"))
_SOURCE_FOLDERS = frozenset(("src", "python", "lib"))


def module_name(relative: str) -> str:
    """The dotted module name of a file, ``src/`` layouts included."""
    parts = relative[: -len(".py")].split("/") if relative.endswith(".py") else relative.split("/")
    if parts and parts[0] in _SOURCE_FOLDERS and len(parts) > 1:
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def is_test(relative: str) -> bool:
    """Whether a file belongs to a project's tests, by its path."""
    folders, _, name = relative.rpartition("/")
    return (
        name.startswith("test_") or name in ("conftest.py", "tests.py") or bool(_TESTS.intersection(folders.split("/")))
    )


class _Bound(NamedTuple):
    """What a module binds at its top."""

    names: frozenset[str]
    stars: tuple[str, ...]
    """The modules of its star imports."""


class ProjectIndex:
    """Facts about all Python files of a project, cheap to send to a worker process.

    Args:
        root: the project's root.
        files: relative paths of its Python files.
        own_cuda_files: those whose text may define ``cuda`` in a class.
        supports_npu: those that ask whether they run on an NPU: the program is made for several kinds of device.
        supporting: the files of the programs that have one of these.
        on_tensorflow: how much of it computes with TensorFlow; see :func:`npuify.project.survey.share_of_tensorflow`.
        tensorflow_marks: which TensorFlow its files are written for.
        contents: what some files hold instead of what is on the disk.
        searched: what an earlier scan's searches of the same files have said, as far as it still holds.
        own_stack: the stack around PyTorch that the project itself is, where it knows the NPU; empty for others.
    """

    def __init__(
        self,
        root: Path,
        files: list[str],
        own_cuda_files: list[str],
        supports_npu: list[str] | None = None,
        supporting: frozenset[str] = frozenset(),
        on_tensorflow: str = "",
        tensorflow_marks: Marks = Marks(),  # noqa: B008 - it cannot be changed
        contents: Mapping[str, bytes] | None = None,
        searched: Mapping[str, bytes] | None = None,
        own_stack: str = "",
    ) -> None:
        self.root = root
        self.own_stack = own_stack
        self._contents = contents or {}
        self.tensorflow_marks = tensorflow_marks
        self.on_tensorflow = on_tensorflow
        self._files = files
        self.supports_npu = supports_npu or []
        self._supporting = supporting
        self.own_cuda_files = own_cuda_files
        self._own_set = frozenset(own_cuda_files)
        self.modules = {module_name(relative): relative for relative in files}
        self.dependencies: set[str] = set()
        """Files that what this view said depends on; ``EVERY_FILE`` where what they all hold counts, and so on."""
        self._own_cuda: list[tuple[OwnCuda, ...]] = []
        self._loaded: OrderedDict[str, FileModel | None] = OrderedDict()
        self._sizes = {"": 0}
        """Of the files that are kept parsed, as they were measured last, and of all together under no name."""
        self._loads = [0]
        self._suffixes: dict[str, str] = {}
        self._searched = searched
        self._text = TextIndex(root, files, contents, searched)
        self._reexports: dict[str, tuple[str | None, tuple[str, ...]]] = {}
        """What names stand for, with the files that this depends on."""
        self._bound_in: dict[str, _Bound | None] = {}
        self._targets: dict[tuple[str, str], str | None] = {}
        self._answers: dict[Any, tuple[Any, frozenset[str]]] = {}
        self.remembered: dict[Any, Any] = {}
        """What rules that look at several files at once keep for the next file."""
        self.packages = frozenset(name.partition(".")[0] for name in self.modules)
        """The top-level packages and modules of the project."""
        parts = {part for name in self.modules for part in name.split(".")}
        self._tops = (parts - (LIBRARIES - self.modules.keys())) | _SOURCE_FOLDERS

    def __reduce__(
        self,
    ) -> tuple[type[ProjectIndex], tuple[Any, ...]]:
        known = (self.root, self._files, self.own_cuda_files, self.supports_npu, self._supporting)
        more = (self.on_tensorflow, self.tensorflow_marks, self._contents, self._searched, self.own_stack)
        return ProjectIndex, (*known, *more)

    def with_contents(self, contents: Mapping[str, bytes]) -> ProjectIndex:
        """The same project, of which some files hold something else; nothing is remembered of what they held."""
        known = (self.root, self._files, self.own_cuda_files, self.supports_npu, self._supporting)
        return ProjectIndex(*known, self.on_tensorflow, self.tensorflow_marks, contents, None, self.own_stack)

    def read(self, relative: str) -> bytes:
        """What a file of the project holds.

        Raises:
            OSError: it cannot be read.
        """
        self.dependencies.add(relative)
        return self._content(relative)

    def _content(self, relative: str) -> bytes:
        known = self._contents.get(relative)
        return content(f"{self.root}/{relative}") if known is None else known

    def handles_npu(self, relative: str) -> bool:
        """Whether a file belongs to a program that treats the NPU beside CUDA by itself, or lies beside such a one."""
        if not self._supporting:
            return False
        if relative.endswith((".py", ".pyi")):
            return relative in self._supporting
        return beside(relative, self.modules.values(), self._supporting)

    def view(self) -> ProjectIndex:
        """The same index, with ``dependencies`` of its own."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view.dependencies = set()
        return view

    def once(self, key: Any, answer: Callable[[ProjectIndex], T]) -> T:
        """What ``answer`` says of the project: it is asked once, and what that depends on is noted each time.

        Args:
            key: tells the question from all others.
            answer: takes a view of the project.
        """
        if key not in self._answers:
            view = self.view()
            self._answers[key] = answer(view), frozenset(view.dependencies)
            # A model that was told the view may note there what this one asks it next.
            view.dependencies = self.dependencies
        answered: T = self._known(key)
        return answered

    def once_here(self, key: Any, answer: Callable[[], T]) -> T:
        """As :meth:`once`, for an answer that asks this view."""
        if key not in self._answers:
            before, self.dependencies = self.dependencies, set()
            try:
                found = answer()
                self._answers[key] = found, frozenset(self.dependencies)
            finally:
                before |= self.dependencies
                self.dependencies = before
        answered: T = self._known(key)
        return answered

    def _known(self, key: Any) -> Any:
        known, files = self._answers[key]
        self.dependencies |= files
        return known

    def forget(self) -> None:
        """Let go of the files that were parsed; they refer to this index and would wait for the collector with it."""
        self._loaded.clear()
        self._sizes.clear()
        self._sizes[""] = 0
        self._own_cuda.clear()
        self._text.forget()
        self._reexports.clear()
        self._bound_in.clear()
        self._targets.clear()
        self._answers.clear()
        self.remembered.clear()

    # --- modules ---

    def files_with(self, text: bytes) -> list[str]:
        """The Python files in which a text stands, in whole words; see :class:`npuify.analysis.texts.index.TextIndex`,
        also for those that follow."""
        self.dependencies.add(SEARCHED)
        return self._text.files_with(text)

    def files_taking_from(self, relative: str) -> list[str]:
        """Those that may take names of a module, given by its file, as text."""
        self.dependencies.add(SEARCHED)
        return self._text.files_taking_from(relative)

    def files_importing(self, name: bytes) -> list[str]:
        """Those that may import something in whose dotted name a word stands."""
        self.dependencies.add(SEARCHED)
        return self._text.files_importing(name)

    def files_deriving(self, name: bytes) -> list[str]:
        """Those in which a class of that name may be a base of another."""
        self.dependencies.add(SEARCHED)
        return self._text.files_deriving(name)

    def files_storing(self, name: bytes) -> list[str]:
        """Those that may assign to an attribute."""
        self.dependencies.add(SEARCHED)
        return self._text.files_storing(name)

    def files_overwriting(self, name: bytes) -> list[str]:
        """Those that may assign to an attribute in a statement, and of anything but ``self``."""
        self.dependencies.add(SEARCHED)
        return self._text.files_overwriting(name)

    def files_declaring(self, name: bytes) -> list[str]:
        """Those that may declare an option which is read from an attribute ``name``, or set its default."""
        self.dependencies.add(SEARCHED)
        return self._text.files_declaring(name)

    def searches(self) -> dict[str, bytes] | None:
        """What these searches have said since this was asked last; see :meth:`TextIndex.searches`."""
        return self._text.searches()

    def file_of(self, module: str) -> str | None:
        """The file of a module, also where the import path starts below the project's root (scripts in a folder)."""
        found = self.modules.get(module)
        if found is None and module:
            if not self._suffixes:
                for name, relative in self.modules.items():
                    parts = name.split(".")
                    for start in range(1, len(parts)):
                        self._suffixes.setdefault(".".join(parts[start:]), relative)
            head, _, rest = module.partition(".")
            found = None if head in LIBRARIES else self._suffixes.get(module)
            if found is None and head in _SOURCE_FOLDERS:
                # Such a folder may also be a package of that name.
                found = self.modules.get(rest)
        return found

    def holds(self, qualified: str) -> bool:
        """Whether a qualified name, or a module, is one of the project's own, as far as its first part tells."""
        root = qualified.partition(".")[0]
        return root in self._tops or self.file_of(root) is not None

    def load(self, relative: str) -> PythonSource | None:
        """Another file of the project, parsed; None where it cannot be."""
        self.dependencies.add(relative)
        return self._load(relative)

    def model_of(self, relative: str) -> FileModel | None:
        """As :meth:`load`, with what was found out about the file."""
        self.dependencies.add(relative)
        return self._kept(relative)

    def _load(self, relative: str) -> PythonSource | None:
        """As :meth:`load`, for what is kept without its tree."""
        model = self._kept(relative)
        return None if model is None else model.source

    def _kept(self, relative: str) -> FileModel | None:
        """A file, parsed. Those that were asked for last are kept."""
        kept = self._loaded
        if relative in kept:
            kept.move_to_end(relative)
            return kept[relative]
        source = self._parse(relative)
        model = kept[relative] = None if source is None else FileModel(source)
        size = self._sizes
        size[relative] = _size(model)
        size[""] += size[relative]
        self._loads[0] += 1
        if self._loads[0] % _MEASURED == 0:
            # More of a file is parsed when it is asked about.
            size.update((name, _size(one)) for name, one in kept.items())
            size[""] = sum(size[name] for name in kept)
        while size[""] > _MOST_KEPT and len(kept) > 1:
            size[""] -= size.pop(kept.popitem(last=False)[0])
        return model

    def _parse(self, relative: str) -> PythonSource | None:
        try:
            words = words_of(b"cuda") if relative in self._own_set else words_of()
            return PythonSource(relative, module_name(relative), self._content(relative), words)
        except (OSError, UnreadableText, SyntaxError):
            return None

    def binding(self, qualified: str) -> tuple[PythonSource, list[Binding]] | None:
        """Where the project binds ``package.module.name`` at module level."""
        module, _, name = qualified.rpartition(".")
        relative = self.file_of(module)
        if relative is None:
            return None
        source = self.load(relative)
        if source is None:
            return None
        bindings = source.scope.names.get(name)
        return (source, bindings) if bindings else None

    def _defines_class(self, qualified: str) -> bool:
        """Whether ``package.module.name`` is a class of the project."""
        if qualified.partition(".")[0] not in self._tops:
            return False
        module, _, name = qualified.rpartition(".")
        relative = self.file_of(module)
        source = self.load(relative) if relative is not None else None
        return source is not None and source.defines_class(name)

    def reexport(self, qualified: str) -> str | None:
        """What a name of one of the project's modules stands for in the end (``pkg.compat.cuda`` → ``torch.cuda``).

        None where the project does not hold the module, or the name is a thing of its own.
        """
        if qualified.partition(".")[0] not in self._tops:
            return None
        known = self._reexports.get(qualified)
        if known is None:
            view = self.view()
            self._reexports[qualified] = (None, ())  # modules may import a name from each other
            known = self._reexports[qualified] = (view._reexport(qualified), tuple(view.dependencies))
        target, files = known
        self.dependencies.update(files)
        return target

    def _reexport(self, qualified: str) -> str | None:
        prefix = qualified
        rest: list[str] = []
        for _ in range(6):
            head, _, tail = prefix.rpartition(".")
            if not head:
                return None
            if self.file_of(head) is not None:
                target = self._name_in(head, tail)
                if target is None or target == prefix:
                    return None
                return ".".join([target, *rest])
            rest.insert(0, tail)
            prefix = head
        return None

    def provides(self, qualified: str) -> bool:
        """Whether ``from module import *`` of a module of the project brings a name."""
        module, _, name = qualified.rpartition(".")
        if name.startswith("_") or qualified.partition(".")[0] not in self._tops or self.file_of(module) is None:
            return False
        return self._name_in(module, name) is not None

    def class_named(self, qualified: str) -> str | None:
        """The class that a qualified name denotes, under the name of the module that defines it.

        Told only in projects with classes that have a ``cuda`` of their own; elsewhere nothing depends on it.
        """
        if not self.own_cuda_files or qualified.partition(".")[0] not in self._tops:
            return None
        name = self.reexport(qualified) or qualified
        return name if self._defines_class(name) else None

    def _name_in(self, module: str, name: str, seen: set[tuple[str, str]] | None = None) -> str | None:
        seen = set() if seen is None else seen
        for _ in range(_MAX_HOPS):
            if (module, name) in seen:
                return None
            seen.add((module, name))
            relative = self.file_of(module)
            if relative is None:
                return f"{module}.{name}"
            bound = self._bound(relative)
            if bound is None:
                return None
            target = self._target(relative, name, bound)
            if target is None and name not in bound.names:
                through = (self._name_in(star, name, seen) for star in bound.stars if self.file_of(star))
                return next((found for found in through if found is not None), None)
            if target is None or target == f"{module_name(relative)}.{name}":
                return target
            module, _, name = target.rpartition(".")
            if not module:
                return target
        return None

    def _bound(self, relative: str) -> _Bound | None:
        """What a file binds at its top; None where it cannot be parsed. Files are let go of again, this is kept."""
        self.dependencies.add(relative)
        if relative not in self._bound_in:
            source = self._load(relative)
            self._bound_in[relative] = (
                None if source is None else _Bound(frozenset(source.scope.names), tuple(source.scope.star_imports))
            )
        return self._bound_in[relative]

    def _target(self, relative: str, name: str, bound: _Bound) -> str | None:
        """What a name stands for in a file, as far as that file alone tells."""
        if name not in bound.names:
            # Bound nowhere, so it comes with one of the star imports.
            return "torch" if name == "torch" and bound.stars else None
        key = (relative, name)
        if key not in self._targets:
            source = self._load(relative)
            self._targets[key] = None if source is None else source.name_target(name, source.scope)
        return self._targets[key]

    # --- classes with a `cuda` of their own ---

    @property
    def own_cuda(self) -> tuple[OwnCuda, ...]:
        """The project's classes that define ``cuda`` or ``is_cuda`` themselves."""
        self.dependencies.update(self.own_cuda_files)
        if not self._own_cuda:
            found = []
            for relative in self.own_cuda_files:
                source = self._load(relative)
                if source is not None:
                    found += own_cuda_in(source, is_test=is_test(source.relative))
            self._own_cuda.append(tuple(found))
        return self._own_cuda[0]

    def defines(self, name: str, *, called: bool, seen_from: str) -> list[OwnCuda]:
        """The project's classes that define ``name`` (``cuda`` or ``is_cuda``) as a method, or as an attribute.

        Classes of tests count only for files of tests.
        """
        tests_count = is_test(seen_from)
        return [
            own
            for own in self.own_cuda
            if name in (own.methods if called else own.attributes) and (tests_count or not own.is_test)
        ]


def _size(model: FileModel | None) -> int:
    if model is None:
        return _AT_LEAST
    return max(model.source.parsed + len(model.source.data) // _UNPARSED, _AT_LEAST)
