"""A Python environment with one version of PyTorch on a machine without CUDA's libraries.

    python -m tools.torch_without_cuda --into /venvs 2.6.0 2.14.0

The package index has builds of PyTorch for CUDA only, each with some gigabytes of NVIDIA's libraries. This takes the
wheel alone, leaves its own CUDA libraries out, and compiles libraries with the same names and symbols in place of all
that is then missing, in the manner of :mod:`tools.real_torch_npu`. Such a torch finds no GPU and computes on the CPU;
the headers for compiling against it are there. Made for the Python that runs this.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import tomli

from .real_torch_npu.machine import _python_files
from .real_torch_npu.packages import NOT_UNPACKED, PackageError, Wheel, obtain
from .real_torch_npu.stand_ins import build_runtime, build_stand_ins, find_lack

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = tuple(pattern for pattern in NOT_UNPACKED if pattern != "torch/include/*")
"""Files of the wheel that the environment does without; the simulated NPU is compiled against the headers."""
FOR_TESTS = ("expecttest", "pytest>=8", "fsspec", "filelock", "jinja2", "networkx", "sympy", "typing_extensions")
"""What the simulator's tests and torch import, besides npuify's own dependencies and NumPy."""


def make(version: str, into: Path, wheels: Path) -> Path:
    """The Python of the environment for ``version``; one that was made before is used again.

    Arguments:
        version: of torch, such as 2.6.0.
        into: the folder below which environments are made.
        wheels: the folder in which the wheel is looked for, and into which it is downloaded.

    Raises:
        PackageError: a package cannot be had, or the environment not be made.
        StandInError: the libraries cannot be compiled.
    """
    folder = into / f"torch-{version}"
    python, done = folder / "bin" / "python", folder / ".ready"
    if done.is_file():
        return python
    wheel = obtain("torch", version, wheels)
    # What an attempt before left half made would be taken for part of the wheel.
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    numpy = "numpy<2" if [int(part) for part in version.split(".")[:2]] < [2, 3] else "numpy"
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    _run([str(python), "-m", "pip", "install", "--quiet", *project["dependencies"], *FOR_TESTS, "setuptools<81", numpy])
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    _lay_out(wheel, packages)
    _say_that_cuda_is_not_there(packages)
    libraries = packages / "torch" / "lib"
    runtime = build_runtime(libraries)
    roots = [*libraries.glob("*.so*"), *(packages / "torch").glob("_C*.so"), *(packages / "functorch").glob("*.so")]
    lack = find_lack(sorted(roots), folders=(libraries,), providers=(*_python_files(), runtime))
    build_stand_ins(lack, runtime, libraries)
    _run([str(python), "-c", "import torch; assert not torch.cuda.is_available(); torch.ones(2) + 1"])
    done.touch()
    return python


def _lay_out(wheel: Wheel, folder: Path) -> None:
    with zipfile.ZipFile(wheel.path) as archive:
        for entry in archive.infolist():
            if any(fnmatch(entry.filename, pattern) for pattern in LEFT_OUT):
                continue
            written = Path(archive.extract(entry, folder))
            if not entry.is_dir() and entry.external_attr >> 16 & 0o111:  # torch starts a program of its own
                written.chmod(0o755)


def _say_that_cuda_is_not_there(folder: Path) -> None:
    """Since 2.14 torch gives operators of CUDA other kernels while it is imported, and fails where they have none."""
    asked = folder / "torch" / "backends" / "cuda" / "__init__.py"
    asked.write_text(
        asked.read_text(encoding="utf-8")
        + "\n\ndef is_built():  # the libraries of CUDA were left out\n    return False\n",
        encoding="utf-8",
    )


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise PackageError(f"{' '.join(command[:4])} failed: {ran.stderr.strip()[-1500:]}")


def main() -> int:
    """Prints the Python of each environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="+", help="versions of torch")
    parser.add_argument("--into", type=Path, required=True, help="folder below which the environments are made")
    parser.add_argument("--wheels", type=Path, help="folder of downloaded wheels (default: wheels, in that folder)")
    arguments = parser.parse_args()
    wheels = arguments.wheels or arguments.into / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    for version in arguments.version:
        print(make(version, arguments.into.resolve(), wheels), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
