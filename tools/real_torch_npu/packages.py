"""Get the two wheels of a release for the Python that runs here, and lay their files out in a folder.

Nothing is installed: the folder is put on the path of the processes that ask the packages.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

NOT_UNPACKED = ("torch/include/*", "torch/test/*", "torch/lib/*cuda*", "torch/lib/*nv*", "torch/lib/*.a")
"""A build of torch for CUDA is taken without its CUDA libraries: with them, torch_npu 2.14 ends the process while it is
imported, since both register the same allocator settings. Stand-ins take their place."""
PYTHON_PACKAGES = ("filelock", "fsspec", "jinja2", "networkx", "numpy", "packaging", "pyyaml", "setuptools<81", "sympy")
"""What torch and torch_npu import besides themselves; setuptools up to the version that still has pkg_resources."""


class PackageError(Exception):
    """A package cannot be had or used."""


@dataclass(frozen=True)
class Wheel:
    """One downloaded archive."""

    path: Path
    version: str
    sha256: str
    requires: tuple[str, ...]
    has_cuda: bool
    """Whether it holds libraries of torch for CUDA; see NOT_UNPACKED."""


def obtain(project: str, version: str, folder: Path) -> Wheel:
    """The wheel for this Python: from ``folder`` if it is there, else downloaded into it.

    Raises:
        PackageError: pip cannot download it; the message holds what pip said last.
    """
    found = _find(folder, project, version)
    if found is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--dest", str(folder), f"{project}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = _find(folder, project, version)
        if done.returncode != 0 or found is None:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise PackageError(f"pip could not download {project} {version}: {lines[-1] if lines else 'no message'}")
    return _read(found)


def _find(folder: Path, project: str, version: str) -> Path | None:
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import Version

    usable = set(sys_tags())
    wanted = Version(version)
    for path in sorted(folder.glob("*.whl")):
        try:
            name, found, _, tags = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        is_version = found == wanted or (wanted.local is None and found.public == wanted.public)
        if name == project.replace("_", "-") and is_version and tags & usable:
            return path
    return None


def _read(path: Path) -> Wheel:
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        has_cuda = any(n.startswith("torch/lib/libtorch_cuda") for n in archive.namelist())
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256") if sys.version_info >= (3, 11) else _digest(file.read())
    return Wheel(
        path, metadata["Version"], digest.hexdigest(), tuple(metadata.get_all("Requires-Dist") or ()), has_cuda
    )


def _digest(content: bytes) -> hashlib._Hash:
    return hashlib.sha256(content)


def unpack(wheel: Wheel, folder: Path) -> Path:
    """Lay the wheel's files out below ``folder``, and return it. Done before: left as it is."""
    done = folder / ".unpacked"
    if done.is_file() and done.read_text(encoding="utf-8") == wheel.sha256:
        return folder
    with zipfile.ZipFile(wheel.path) as archive:
        for name in archive.namelist():
            if not any(fnmatch.fnmatch(name, pattern) for pattern in NOT_UNPACKED):
                archive.extract(name, folder)
    if (folder / "torch" / "version.py").is_file():
        _say_without_cuda(folder / "torch")
    done.write_text(wheel.sha256, encoding="utf-8")
    return folder


def _say_without_cuda(torch: Path) -> None:
    """Let torch say of itself that it was built without CUDA, as the build says whose libraries it now has."""
    version = torch / "version.py"
    text = version.read_text(encoding="utf-8")
    version.write_text(re.sub(r"^cuda(:.*?)? = '.*'$", r"cuda\1 = None", text, flags=re.MULTILINE), encoding="utf-8")
    backend = torch / "backends" / "cuda" / "__init__.py"
    with backend.open("a", encoding="utf-8") as file:
        file.write("\n\ndef is_built() -> bool:\n    return False\n")


def make_python(folder: Path) -> Path:
    """A Python with what torch and torch_npu import besides themselves, in a virtual environment of its own.

    Raises:
        PackageError: it cannot be made.
    """
    python = folder / "bin" / "python"
    done = folder / ".ready"
    if done.is_file():
        return python
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *PYTHON_PACKAGES, "typing_extensions"],
    )
    for command in commands:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise PackageError(f"cannot make a Python environment: {ran.stderr.strip()[-500:]}")
    done.touch()
    return python
