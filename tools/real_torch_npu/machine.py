"""A prepared release: its files, the stand-ins for what it lacks, and a Python to ask it with."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .packages import PackageError, Wheel, make_python, obtain, unpack
from .stand_ins import build_runtime, build_stand_ins, find_lack

HERE = Path(__file__).parent
PROBES = HERE / "probes"
OPENED_BY_NAME = ("libascend_hal.so", "libopapi.so")
"""Libraries that torch_npu opens while it is imported, and that no file says to need."""
_PROBE_SECONDS = 1800


@dataclass(frozen=True)
class Machine:
    """Where everything of one release lies."""

    torch_npu: Wheel
    torch: Wheel
    python: Path
    packages: tuple[Path, ...]
    stand_ins: Path

    def environment(self, **setting: str) -> dict[str, str]:
        """The environment of a process that can import the packages; nothing else of the present one but where to
        find programs."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": tempfile.gettempdir(),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(map(str, self.packages)),
            "PYTHONHASHSEED": "0",
            "LD_LIBRARY_PATH": str(self.stand_ins),
            **setting,
        }

    def probe(self, name: str) -> Any:
        """What the probe of this name found.

        Raises:
            PackageError: its process failed, or took too long.
        """
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "found.json")
            command = [str(self.python), str(PROBES), name, str(output)]
            try:
                done = subprocess.run(
                    command,
                    env=self.environment(),
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=_PROBE_SECONDS,
                )
            except subprocess.TimeoutExpired as error:
                raise PackageError(f"the probe {name} took more than {_PROBE_SECONDS} seconds") from error
            if not output.is_file():
                said = done.stderr.strip()[-1500:]
                raise PackageError(f"the probe {name} of torch_npu {self.torch_npu.version} failed: {said}")
            return json.loads(output.read_text(encoding="utf-8"))


def prepare(version: str, *, wheels: Path, work: Path) -> Machine:
    """Get everything ready for one release.

    Args:
        version: the exact torch_npu version.
        wheels: where the wheels are looked for, and downloaded to.
        work: where files are laid out; used again next time.

    Raises:
        PackageError: a package cannot be had.
        StandInError: the stand-ins cannot be compiled.
    """
    if not sys.platform.startswith("linux"):
        raise PackageError("the real torch_npu can be imported on Linux only")
    wheels.mkdir(parents=True, exist_ok=True)
    npu = obtain("torch_npu", version, wheels)
    torch = obtain("torch", required_torch(npu), wheels)
    npu_folder = unpack(npu, work / f"torch_npu-{npu.version}")
    torch_folder = unpack(torch, work / f"torch-{torch.version}")
    python = make_python(work / f"python{sysconfig.get_python_version()}")
    stand_ins = work / f"stand-ins-{npu.version}"
    stand_ins.mkdir(exist_ok=True)
    machine = Machine(npu, torch, python, (npu_folder, torch_folder), stand_ins)
    made, made_of = stand_ins / ".made", _made_of(npu, torch)
    if made.is_file() and made.read_text(encoding="utf-8") == made_of:
        return machine
    runtime = build_runtime(stand_ins)
    libraries = torch_folder / "torch" / "lib"
    lack = find_lack(
        sorted([*npu_folder.rglob("*.so"), *libraries.glob("*.so")]),
        folders=(libraries, npu_folder / "torch_npu" / "lib"),
        providers=(*_python_files(), runtime),
        also=OPENED_BY_NAME,
    )
    build_stand_ins(lack, runtime, stand_ins)
    made.write_text(made_of, encoding="utf-8")
    return machine


def _made_of(npu: Wheel, torch: Wheel) -> str:
    """Changes with whatever the stand-ins are made from."""
    sources = [
        path.read_bytes() for folder in (HERE, HERE / "runtime") for path in sorted(folder.iterdir()) if path.is_file()
    ]
    return " ".join([npu.sha256, torch.sha256, hashlib.sha256(b"".join(sources)).hexdigest(), sys.executable])


def _python_files() -> list[Path]:
    """Where the interpreter's own symbols are: in the program, or in its shared library."""
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY")
    library = Path(str(folder), str(name))
    shared = [library] if library.suffix == ".so" or ".so." in library.name else []
    return [Path(sys.executable).resolve(), *(path for path in shared if path.is_file())]


def required_torch(npu: Wheel) -> str:
    """The torch version that a torch_npu wheel asks for; early ones ask for none, and mean that of their own number."""
    for requirement in npu.requires:
        found = re.match(r"torch\s*\(?==\s*([0-9.]+?)(?:\.\*)?(?:\+[a-z]+)?\)?\s*(?:;|$)", requirement)
        if found:
            return found.group(1)
    found = re.match(r"\d+\.\d+\.\d+", npu.version)
    if found is None:
        raise PackageError(f"cannot tell which torch {npu.version} needs")
    return found.group()
