"""What a shared library needs and has, read from its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.hash import ELFHashSection, GNUHashSection
from elftools.elf.sections import SymbolTableSection

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATA_MANGLINGS = ("_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZGV")
"""Itanium C++ names of vtables, type information and guards, which are data whatever the symbol table says."""
_LOCAL_VERSION, _GLOBAL_VERSION = 0, 1


@dataclass(frozen=True, order=True)
class WantedSymbol:
    """A symbol that a library leaves to others.

    ``version`` and ``library`` are None where the file does not say them: most libraries are linked without versions,
    and then nothing in the file tells which of the needed libraries was meant.
    """

    name: str
    is_data: bool = False
    version: str | None = None
    library: str | None = None


@dataclass
class SharedLibrary:
    """One ELF file. It is read when first asked, and only as far as needed."""

    path: Path
    _stream: Any = field(default=None, repr=False)

    @cached_property
    def _elf(self) -> Any:
        self._stream = self.path.open("rb")
        return ELFFile(self._stream)

    @cached_property
    def _sections(self) -> list[Any]:
        return list(self._elf.iter_sections())

    def _tags(self, name: str) -> Iterator[Any]:
        for section in self._sections:
            if isinstance(section, DynamicSection):
                yield from section.iter_tags(name)

    @property
    def soname(self) -> str:
        """The name that others need it by; its file's name where it says none."""
        return next((str(tag.soname) for tag in self._tags("DT_SONAME")), self.path.name)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the libraries that have to be loaded with it, in the file's order."""
        return tuple(str(tag.needed) for tag in self._tags("DT_NEEDED"))

    @property
    def search_path(self) -> tuple[Path, ...]:
        """Folders of its RPATH and RUNPATH, ``$ORIGIN`` put in."""
        entries = [str(tag.rpath) for tag in self._tags("DT_RPATH")] + [
            str(tag.runpath) for tag in self._tags("DT_RUNPATH")
        ]
        origin = str(self.path.resolve().parent)
        folders = [
            f.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for e in entries for f in e.split(":") if f
        ]
        return tuple(Path(folder) for folder in folders)

    @cached_property
    def wanted(self) -> tuple[WantedSymbol, ...]:
        """The undefined symbols without which it cannot be loaded; weak ones are left out, as the loader leaves
        them."""
        table = next((s for s in self._sections if s.name == ".dynsym" and isinstance(s, SymbolTableSection)), None)
        if table is None:
            return ()
        versions = self._needed_versions()
        indices = next((s for s in self._sections if isinstance(s, GNUVerSymSection)), None)
        found = []
        for index, symbol in enumerate(table.iter_symbols()):
            if symbol["st_shndx"] != "SHN_UNDEF" or not symbol.name or symbol["st_info"]["bind"] == "STB_WEAK":
                continue
            is_data = symbol["st_info"]["type"] in ("STT_OBJECT", "STT_TLS") or symbol.name.startswith(_DATA_MANGLINGS)
            number = indices.get_symbol(index)["ndx"] if indices is not None else _GLOBAL_VERSION
            version, library = versions.get(number, (None, None)) if isinstance(number, int) else (None, None)
            found.append(WantedSymbol(str(symbol.name), is_data, version, library))
        return tuple(found)

    def _needed_versions(self) -> dict[int, tuple[str, str]]:
        section = next((s for s in self._sections if isinstance(s, GNUVerNeedSection)), None)
        if section is None:
            return {}
        return {
            version["vna_other"]: (str(version.name), str(library.name))
            for library, library_versions in section.iter_versions()
            for version in library_versions
        }

    @cached_property
    def _defined(self) -> Any:
        """The hash table of defined symbols, or a set of their names where the file has none."""
        for kind in (GNUHashSection, ELFHashSection):
            section = next((s for s in self._sections if isinstance(s, kind)), None)
            if section is not None:
                return section
        return frozenset(self.defined_names())

    def defined_names(self) -> Iterator[str]:
        """Every dynamic symbol that it has. Slow for large libraries; :meth:`defines` asks for one."""
        for section in self._sections:
            if section.name == ".dynsym" and isinstance(section, SymbolTableSection):
                yield from (str(s.name) for s in section.iter_symbols() if s["st_shndx"] != "SHN_UNDEF" and s.name)

    def defines(self, name: str) -> bool:
        """Whether others can link to this symbol in it."""
        if isinstance(self._defined, frozenset):
            return name in self._defined
        symbol = self._defined.get_symbol(name)
        return symbol is not None and symbol["st_shndx"] != "SHN_UNDEF"

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
