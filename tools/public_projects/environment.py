"""A Python environment with what the public projects import, on a machine without CUDA.

    python -m tools.public_projects.environment --into FOLDER

The package index has torchvision for CUDA only, whose operators do not load where PyTorch is for the CPU. The libraries
that it wants are made in the manner of :mod:`tools.torch_without_cuda`, and loaded when Python starts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import tomli

from tools.real_torch_npu.machine import _python_files
from tools.real_torch_npu.stand_ins import build_runtime, build_stand_ins, find_lack

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "numpy",
    "tqdm",
    "pillow",
    "scipy",
    "pyyaml",
    "einops",
    "yacs",
    "termcolor",
    "timm==0.9.16",
    "diffusers",
    "accelerate",
    "tensorboard",
    "blobfile",
    "mpi4py",
    "mpich",
    "requests",
    "matplotlib",
    "pandas",
    "seaborn",
    "scikit-learn",
    "gymnasium==0.29.1",
    "tyro",
    "h5py",
    "plyfile",
    "loralib",
    "mir_eval",
    "librosa",
    "opencv-python-headless",
)
"""Without torchvision, which would bring a PyTorch for CUDA. This timm still has what Swin-Transformer and mae use."""


def make(folder: Path, torch: str, torchvision: str) -> Path:
    """The Python of a new environment.

    Raises:
        subprocess.CalledProcessError: a package cannot be had.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, torch, *project["dependencies"]], check=True)
    subprocess.run([*pip, "--no-deps", torchvision], check=True)
    subprocess.run([*pip, *PACKAGES], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    _libraries(packages)
    subprocess.run([str(python), "-c", "import torchvision; torchvision.ops.nms"], check=True)
    return python


def _libraries(packages: Path) -> None:
    """Make what torchvision's own libraries want and PyTorch for the CPU lacks; a .pth file loads it."""
    made = packages / "torchvision_stand_ins"
    made.mkdir(exist_ok=True)
    runtime = build_runtime(made)
    roots = sorted((packages / "torchvision").glob("*.so"))
    folders = (packages / "torch" / "lib", packages / "torchvision.libs")
    lack = find_lack(roots, folders=folders, providers=(*_python_files(), runtime))
    libraries = [str(runtime), *(str(path) for path in build_stand_ins(lack, runtime, made))]
    line = f"import ctypes; list(map(ctypes.CDLL, {libraries!r}))\n"
    (packages / "torchvision_stand_ins.pth").write_text(line, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True, help="the environment's folder")
    parser.add_argument("--torch", default="torch==2.13.0")
    parser.add_argument("--torchvision", default="torchvision==0.28.0")
    given = parser.parse_args()
    print(make(given.into.resolve(), given.torch, given.torchvision))
    return 0


if __name__ == "__main__":
    sys.exit(main())
