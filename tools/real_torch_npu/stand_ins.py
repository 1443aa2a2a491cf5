"""Make the shared libraries that a package wants and the machine lacks."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .bodies import source_of
from .elf import SharedLibrary, WantedSymbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RUNTIME_SOURCES = sorted((Path(__file__).parent / "runtime").glob("*.cpp"))
RUNTIME_LIBRARY = "libnpuify_stand_in_runtime.so"
REST_LIBRARY = "libnpuify_stand_in_rest.so"
"""Holds the symbols of which no file says where they belong; every generated library needs it."""


class StandInError(Exception):
    """The stand-ins cannot be made."""


@dataclass(frozen=True)
class Lack:
    """What has to be made so that some libraries can be loaded."""

    libraries: tuple[str, ...]
    """Needed by name, and nowhere to be found."""
    symbols: tuple[WantedSymbol, ...]
    """Wanted, and defined by nothing that is there."""


def find_lack(
    roots: Sequence[Path], *, folders: Sequence[Path] = (), providers: Sequence[Path] = (), also: Sequence[str] = ()
) -> Lack:
    """Follow what libraries need, and see what is not there.

    Args:
        roots: the libraries to begin with.
        folders: where to look for needed libraries, besides the search paths that they have themselves and the
        system's. providers: files that are loaded before, and whose symbols count: the Python interpreter, the runtime.
        also: libraries that the code opens by name while it runs, and that no file says to need.
    """
    system = _system_libraries()
    found: dict[str, SharedLibrary] = {}
    missing: list[str] = []
    waiting = [SharedLibrary(path) for path in roots]
    found.update((library.soname, library) for library in waiting)
    explored = list(waiting)
    while waiting:
        library = waiting.pop()
        for name in library.needed:
            if name in found or name in missing:
                continue
            path = _locate(name, (*library.search_path, *folders))
            if path is not None:
                found[name] = SharedLibrary(path)
                waiting.append(found[name])
                explored.append(found[name])
            elif name in system:
                found[name] = SharedLibrary(system[name])
            else:
                missing.append(name)
    everything = [*(SharedLibrary(path) for path in providers), *found.values()]
    lacking = {
        symbol
        for library in explored
        for symbol in library.wanted
        if symbol.library in (None, *missing) and not any(other.defines(symbol.name) for other in everything)
    }
    for library in everything:
        library.close()
    return Lack(tuple(sorted({*missing, *also})), tuple(sorted(lacking, key=lambda s: (s.name, s.version or ""))))


def _locate(name: str, folders: Iterable[Path]) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _system_libraries() -> dict[str, Path]:
    """Name → path of what the loader finds by itself."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    entries = (line.split(" => ") for line in listing.stdout.splitlines() if " => " in line)
    found: dict[str, Path] = {}
    for left, path in entries:
        if "x86-64" in left or "AArch64" in left:
            found.setdefault(left.split()[0], Path(path))
    return found


def build_runtime(folder: Path) -> Path:
    """Compile the runtime on host memory.

    Raises:
        StandInError: there is no C++ compiler, or it fails.
    """
    target = folder / RUNTIME_LIBRARY
    _compile(["-std=c++17", "-O1", *map(str, RUNTIME_SOURCES), "-lpthread"], target)
    return target


def build_stand_ins(lack: Lack, runtime: Path, folder: Path) -> list[Path]:
    """Compile one library for each that is missing, and one for the symbols that belong to none in particular.

    Raises:
        StandInError: there is no C++ compiler, or it fails.
    """
    symbols: dict[str, list[WantedSymbol]] = defaultdict(list)
    for symbol in lack.symbols:
        symbols[symbol.library or REST_LIBRARY].append(symbol)
    link = [f"-L{folder}", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-l:{runtime.name}"]
    made = [_build_library(REST_LIBRARY, symbols[REST_LIBRARY], link, folder)]
    for name in lack.libraries:
        made.append(_build_library(name, symbols[name], [*link, f"-l:{REST_LIBRARY}"], folder))
    return made


def _build_library(name: str, symbols: Sequence[WantedSymbol], link: Sequence[str], folder: Path) -> Path:
    source = folder / f"{name}.c"
    source.write_text(source_of(symbols), encoding="utf-8")
    options = ["-O0", "-w", f"-Wl,-soname,{name}", str(source), *link]
    script = version_script(symbols)
    if script:
        versions = folder / f"{name}.map"
        versions.write_text(script, encoding="utf-8")
        options.append(f"-Wl,--version-script={versions}")
    target = folder / name
    _compile(["-x", "c", *options[:4], "-x", "none", *options[4:]], target)
    return target


def version_script(symbols: Iterable[WantedSymbol]) -> str:
    """A linker's version script that gives the symbols their versions; empty where none has one."""
    names: dict[str, list[str]] = defaultdict(list)
    for symbol in symbols:
        if symbol.version is not None:
            names[symbol.version].append(symbol.name)
    return "".join(
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(members))} }};\n"
        for version, members in sorted(names.items())
    )


def _compile(options: Sequence[str], target: Path) -> None:
    command = ["g++", "-shared", "-fPIC", *options, "-o", str(target)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise StandInError("no C++ compiler: g++ is not on the path") from error
    if done.returncode != 0:
        raise StandInError(f"g++ cannot make {target.name}: {done.stderr.strip()[-2000:]}")
