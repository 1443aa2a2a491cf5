"""Compiles the simulated device for the torch that is installed, once, and keeps it in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).resolve().parents[1] / "native"
_PATIENCE = 600.0
"""Seconds to wait for another process that compiles."""


class NoCompiler(RuntimeError):
    """The machine has no C++ compiler that npuify can use."""


class CompileError(RuntimeError):
    """The compiler did not accept the device's sources; the message ends with what it said."""


def compiler() -> str | None:
    """Path of the C++ compiler: ``$CXX``, or the first of g++, clang++ and c++ on the path; None if there is none."""
    asked = os.environ.get("CXX")
    for name in [asked] if asked else ["g++", "clang++", "c++"]:
        found = shutil.which(name)
        if found:
            return found
    return None


def cache_folder(asked: str = "") -> Path:
    """Where compiled devices are kept: ``asked``, else the user's cache folder, as platformdirs would name it."""
    if asked:
        return Path(asked)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "npuify" / "simulator"


def library(torch_version: str, torch_folder: Path, cxx11_abi: bool, distributed: bool, cache: str = "") -> Path:
    """The compiled device for this torch; compiled now if it is not in the cache yet.

    Arguments:
        torch_version: ``torch.__version__``.
        torch_folder: the folder of the installed package.
        cxx11_abi: which of libstdc++'s two layouts that torch uses.
        distributed: whether that torch has torch.distributed.
        cache: folder of the cache; empty: the user's.

    Raises:
        NoCompiler: it has to be compiled, and there is no compiler.
        CompileError: the compiler failed.
    """
    if sys.platform == "win32":
        raise NoCompiler("the C++ device of the simulator is made for Linux and macOS")
    folder = cache_folder(cache)
    name = f"npu-{_version_tag(torch_version)}-{_fingerprint(torch_version, cxx11_abi, distributed)}.so"
    wanted = folder / name
    if wanted.is_file():
        return wanted
    tool = compiler()
    if tool is None:
        raise NoCompiler(
            "no C++ compiler found (looked for g++, clang++ and c++ on the path, and at $CXX). "
            "Install one, for example with: apt-get install g++"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _only_one(folder / f"{name}.lock"):
        if not wanted.is_file():
            print(
                phrase(
                    "npuify: compiling the simulated NPU for torch {version}, once; this takes about half a minute",
                    version=torch_version,
                ),
                file=sys.stderr,
                flush=True,
            )
            with tempfile.TemporaryDirectory(dir=folder, prefix="compile-") as work:
                made = _compile(tool, Path(work), torch_version, torch_folder, cxx11_abi, distributed)
                os.replace(made, wanted)  # noqa: PTH105 - atomic, also over what another machine put there
    return wanted


def _version_tag(version: str) -> str:
    return "".join(c if c.isalnum() or c == "." else "_" for c in version)


def _fingerprint(version: str, cxx11_abi: bool, distributed: bool) -> str:
    digest = hashlib.sha256(f"{version} {cxx11_abi} {distributed} {sys.platform} {os.uname().machine}".encode())
    digest.update(Path(__file__).read_bytes())
    for path in sorted(SOURCES.glob("*.*")):
        if path.suffix in (".cpp", ".h"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Holds a lock between processes; it goes away with the process, whatever happens to it."""
    import fcntl

    with path.open("w") as handle:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise CompileError(
                        phrase(
                            "another process has been compiling for {seconds} s; see {path}",
                            seconds=f"{_PATIENCE:.0f}",
                            path=path,
                        )
                    ) from None
                time.sleep(0.2)
        yield


def _compile(tool: str, work: Path, version: str, torch: Path, cxx11_abi: bool, distributed: bool) -> Path:
    major, minor = (int(part) for part in version.split(".")[:2])
    number = 100 * major + minor
    flags = [
        "-c",
        "-O2",
        "-fPIC",
        "-w",
        # Later releases of torch need C++20; the first ones do not take it.
        "-std=c++20" if number >= 212 else "-std=c++17",
        f"-DNPUIFY_TORCH={number}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(cxx11_abi)}",
        "-Itorch/include",
        "-Itorch/include/torch/csrc/api/include",
    ]
    # What is compiled is named by these links: messages of torch end in the file's name as the compiler was given it,
    # and nobody should read there how folders are called where it was compiled.
    (work / "native").symlink_to(SOURCES, target_is_directory=True)
    (work / "torch").symlink_to(torch, target_is_directory=True)
    if distributed:
        flags += ["-DNPUIFY_DISTRIBUTED", "-DUSE_DISTRIBUTED", "-DUSE_C10D_GLOO"]

    def one(source: Path) -> Path:
        out = work / f"{source.stem}.o"
        _run([tool, *flags, f"native/{source.name}", "-o", str(out)], work)
        return out

    # The heavy ones first.
    sources = sorted(SOURCES.glob("*.cpp"), key=lambda p: p.stem not in ("collectives", "operators"))
    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = list(pool.map(one, sources))
    made = work / "npu.so"
    link = ["-shared", "-o", str(made), *map(str, objects), f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch"]
    _run([tool, *link, *_standard_library(tool)], work)
    return made


def _standard_library(tool: str, maps: Path = Path("/proc/self/maps")) -> list[str]:
    """The C++ library that torch has loaded, where the compiler has only a static one.

    Linked in, that would be a second one in the process: what one makes the other reads otherwise, and printing the
    number in the text of an error is a segmentation fault.

    Args:
        tool: the compiler.
        maps: what is loaded into this process.
    """
    asked = subprocess.run([tool, "-print-file-name=libstdc++.so"], capture_output=True, text=True, check=False)
    if asked.returncode != 0 or Path(asked.stdout.strip()).is_absolute():
        return []
    try:
        loaded = re.findall(r"^.*\s(/\S*/libstdc\+\+\.so\S*)$", maps.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return []
    return loaded[:1]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CompileError(
            "\n".join(
                [phrase("{compiler} could not compile the simulated NPU:", compiler=Path(command[0]).name), *said[:30]]
            )
        )
