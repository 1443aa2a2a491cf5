"""A digest of an operator's whole code: equal for two copies whose results are the same by their text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.rules.packages.extensions.remembered import Remembered
from npuify.source.native.definitions import Definitions, default_values, definitions_in, named_arguments
from npuify.source.native.form import computes, filled, form_of, redefinable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.source.native.file import Binding
    from npuify.source.native.form import Form

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_OPERATOR: Final = re.compile(r"operator\s*[-+*/%<>=!&|^~]+")


class Fingerprints:
    """Computes digests of operators.

    Args:
        read: gives the text of a native file by its path.
        files_of: gives the files that hold the functions of a name which code in one file means; it is told whether
            that file, or one that it sees, says that the function is defined elsewhere.
        constants_near: gives the files in whose macros, constants and types a name of one file is looked up.
        built_with: gives the files of the extensions for which one file is compiled; a template of a header may have
            its cases for one type in any of them.
        macros_of: gives what the compiler is told to define for a file, with the values.
    """

    def __init__(
        self,
        read: Callable[[str], bytes],
        files_of: Callable[[str, str, bool], Iterable[str]],
        constants_near: Callable[[str], Iterable[str]],
        built_with: Callable[[str], Iterable[str]],
        macros_of: Callable[[str], Iterable[tuple[str, str]]] = lambda _: (),
    ) -> None:
        self._read = read
        self._files_of = files_of
        self._constants_near = constants_near
        self._built_with = built_with
        self._macros_of = macros_of
        self._forms: dict[str, Definitions] = {}
        self._functions = Remembered[str | None]()
        self._types = Remembered[str | None](self._functions)
        self._constants = Remembered[str | None](self._functions)
        self._overloads = Remembered[tuple[str, ...]](self._functions)
        self._macros: dict[str, frozenset[str]] = {}

    def of(self, relative: str, binding: Binding) -> str:
        """The digest of an operator, or nothing where a part of its code cannot be read.

        Args:
            relative: the file that hands it to Python.
            binding: what is said there.
        """
        if len(binding.targets) != 1 or binding.key == "class":
            return ""
        self._functions.begin()
        found = self._function(relative, binding.targets[0])
        if not found:
            return ""
        parts = list(named_arguments(self._read(relative), binding.name))
        if binding.library:
            near = (relative, *self._constants_near(relative))
            parts += dict.fromkeys(one for file in near for one in default_values(self._read(file), binding.name))
        if binding.written:
            # ``&f<2>`` is another operator than ``&f<3>``, and a lambda may swap what it is given.
            written = self._filled(relative, form_of(binding.written))
            if written is None:
                return ""
            parts.insert(0, written)
        return filled(found, parts)

    def texts_of(self, place: str, name: str) -> list[tuple[str, str]]:
        """The files and texts of functions, macros, constants and types that a name may mean in a file."""
        files = sorted(set(self._files_of(place, name, self._declares(place, name))))
        near = dict.fromkeys((place, *self._constants_near(place)))
        if not files:
            files = [file for file in near if name in self._of_file(file).functions][:1]
        found = [(file, text) for file in files for text in self._of_file(file).functions.get(name, ())]
        macros = next((file for file in near if name in self._of_file(file).others), None)
        if not found and macros is not None:
            found += [(macros, text) for text in self._of_file(macros).others[name]]
        types = dict.fromkeys((*near, *self._built_with(place)))
        return found + [(file, text) for file in types for text in self._of_file(file).types.get(name, ())]

    def _function(self, place: str, name: str) -> str | None:
        """The digest of the functions of a name; empty if there are none, None if one cannot be read."""
        # Where it calls itself, "itself" stands.
        return self._functions.of((place, name), "itself", lambda: self._of_function(place, name))

    def _of_function(self, place: str, name: str) -> str | None:
        files = sorted(set(self._files_of(place, name, self._declares(place, name))))
        if not files:
            # Headers that name neither torch nor a kernel are not read for operators; what they define counts as well.
            near = dict.fromkeys((place, *self._constants_near(place)))
            files = [file for file in near if name in self._of_file(file).functions][:1]
        digests: set[str] = set()
        for file in files:
            texts = self._of_file(file).functions.get(name)
            made = [self._filled(file, form_of(text)) for text in texts or ()]
            if operators := self._operators(file):
                made = [one if one is None else filled(one, operators) for one in made]
            if not made or None in made or (digests and digests != set(made)):
                # Where several files have such a function, it cannot be told which of them is meant.
                return None
            digests.update(one for one in made if one is not None)
        return filled("", sorted(digests)) if digests else ""

    def _filled(self, place: str, form: Form) -> str | None:
        parts = []
        for name in form.holes:
            function, kind = self._function(place, name), self._type(place, name)
            constant = "" if function else self._constant(place, name)
            if None in (function, kind, constant) or (name in form.launched and not function and not kind):
                return None
            if not function and not kind and self._declares(place, name):
                # What a project generates when it is built.
                return None
            # A type and its constructors have one name.
            parts.append(filled(kind, [function]) if function and kind else function or constant or kind or name)
            parts += self._defaults(place, name) if function else ()
        for name in form.qualified:
            function = self._function(place, name)
            if function is None or (not function and name in form.launched):
                return None
            kind = self._type(place, name)
            if kind is None:
                return None
            # Names of torch and CUDA stay as they stand in the form.
            known = function or self._constant(place, name)
            if known is None:
                return None
            parts += [one for one in (known, kind) if one]
        others = self._hidden(place, form)
        return None if others is None else filled(form.digest, [*parts, *others])

    def _hidden(self, place: str, form: Form) -> list[str] | None:
        """What else decides about a form: macros with the name of a variable or a word, and checks that are none."""
        found: list[str] = []
        visible = self._visible_macros(place)
        for name in sorted(visible & (form.own | redefinable(form.own))):
            found.append(f"{name}={self._constant(place, name)}")
        for name in dict.fromkeys(form.checks):
            if any(name in self._of_file(file).others for file in (place, *self._constants_near(place))):
                texts = [
                    text
                    for file in (place, *self._constants_near(place))
                    for text in self._of_file(file).others.get(name, ())
                ]
                if any(computes(text) for text in texts):
                    found.append(f"{name}={self._constant(place, name)}")
            elif function := self._function(place, name):
                found.append(function)
        return found

    def _visible_macros(self, place: str) -> frozenset[str]:
        """The names of all macros that may hold in a file."""
        if place not in self._macros:
            files = (place, *self._constants_near(place))
            told = {name for name, _ in self._macros_of(place)}
            self._macros[place] = frozenset(told.union(*(self._of_file(file).macros for file in files)))
        return self._macros[place]

    def _operators(self, file: str) -> tuple[str, ...]:
        """The digests of operators such as ``+`` that a file, or what is beside it, defines for types."""
        return self._overloads.of((file, ""), (), lambda: self._of_operators(file))

    def _of_operators(self, file: str) -> tuple[str, ...]:
        made = [
            self._filled(near, form_of(text))
            for near in dict.fromkeys((file, *self._constants_near(file)))
            for name, texts in self._of_file(near).functions.items()
            if _OPERATOR.fullmatch(name)
            for text in texts
        ]
        return tuple(sorted({one or "?" for one in made}))

    def _defaults(self, place: str, name: str) -> list[str]:
        """The values of parameters that a call may leave out, where only a prototype has them."""
        texts = dict.fromkeys(
            self._of_file(file).defaults[name]
            for file in (place, *self._constants_near(place))
            if name in self._of_file(file).defaults
        )
        return [form_of(f"({text})").digest for text in texts]

    def _constant(self, place: str, name: str) -> str | None:
        """The digest of a macro, constant or alias of a type, with the functions that a macro calls.

        Empty where the project defines none of that name, None where a part of it cannot be read.
        """
        # Inside itself its name stays.
        return self._constants.of((place, name), "", lambda: self._of_constants(place, name))

    def _of_constants(self, place: str, name: str) -> str | None:
        made: str | None = ""
        for file in (place, *self._constants_near(place)):
            texts = self._of_file(file).others.get(name)
            if texts:
                inner = [self._of_constant(place, file, text) for text in texts]
                known = sorted(one for one in inner if one is not None)
                made = filled("constant", known) if len(known) == len(inner) else None
                break
        told = [value for one, value in self._macros_of(place) if one == name]
        return filled("told", [*told, made or ""]) if told and made is not None else made

    def _of_constant(self, place: str, file: str, text: str) -> str | None:
        form = form_of(text)
        given = set(_NAME.findall(text.partition(")")[0])) if text.startswith("(") else set()
        parts: list[str] = []
        for name, hole in [*((one, True) for one in form.holes), *((one, False) for one in form.qualified)]:
            if name in given:
                # What a macro is given stands where it is called.
                function: str | None = ""
            else:
                function = self._function(place, name)
            if function is None or (name in form.launched and not function and name not in given):
                return None
            known = function or (self._constant(file, name) if hole else "")
            if known is None:
                return None
            if hole or known:
                parts.append(known or name)
        return filled(form.digest, parts)

    def _type(self, place: str, name: str) -> str | None:
        """The digest of a structure or class with what it uses; empty if there is none, None if it cannot be read."""
        # Where it names itself, nothing stands.
        return self._types.of((place, name), "", lambda: self._of_type(place, name))

    def _of_type(self, place: str, name: str) -> str | None:
        near = dict.fromkeys((place, *self._constants_near(place), *self._built_with(place)))
        found = [(file, text) for file in near for text in self._of_file(file).types.get(name, ())]
        # A template and its cases for one type may lie in several files.
        first = [one for one in found if one[0] == found[0][0]]
        texts = found if any(text.startswith("<") for _, text in found) else first
        made = [self._filled(file, form_of(text, keep_names=True)) for file, text in texts]
        known = sorted({one for one in made if one is not None})
        return (filled("type", known) if None not in made else None) if made else ""

    def _declares(self, place: str, name: str) -> bool:
        return any(name in self._of_file(file).declared for file in (place, *self._constants_near(place)))

    def _of_file(self, file: str) -> Definitions:
        if file not in self._forms:
            self._forms[file] = definitions_in(self._read(file))
        return self._forms[file]
