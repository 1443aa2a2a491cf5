"""CANN: what is installed, where, and which of it the shell has loaded. Formats: facts/facts.md, section 2."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from .driver import assignments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.doctor.machine import Sight

KERNELS: Final = "opp/built-in/op_impl/ai_core/tbe/kernel"
"""Below an installation: one folder of compiled operators for each kind of chip."""

_RUNNING: Final = re.compile(r"^(\w+)_running_version=\[([^:\]]*):([^\]]*)\]", re.MULTILINE)
_LIBRARIES: Final = re.compile(
    r"(?P<home>/(?!.*/(?:driver|nnal)/).+?)/(?:(?:runtime|compiler|toolkit|fwkacllib|\w+-linux)/)?lib64/?$"
)
"""The folder of libraries of an installation, which may lie where no installer would put it."""
_VERSIONED: Final = re.compile(r"^(?:cann-)?\d+\.\d+")


class Cann(msgspec.Struct, frozen=True, kw_only=True):
    """One installation."""

    path: str
    """Its real folder, links followed."""
    shown: str
    """The folder by which a person knows it."""
    version: str
    architecture: str = ""
    kernels: tuple[str, ...] = ()
    """Kinds of chip that operators are installed for, as folders name them: ``ascend910b``."""
    set_env: str = ""
    opp: bool = False
    parts: dict[str, str] = msgspec.field(default_factory=dict)
    """Versions of its parts, as ``version.cfg`` tells them."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What the shell's variables say."""

    home: str
    """``ASCEND_HOME_PATH``; empty where it is not set."""
    home_exists: bool
    homes: tuple[str, ...] = ()
    """Real folders of CANN installations that stand in ``LD_LIBRARY_PATH``, in order."""
    repeated: int = 0
    """How often the library folder of the home stands there."""
    opp: str = ""
    opp_of: str = ""
    """The real folder of the installation that ``ASCEND_OPP_PATH`` belongs to."""
    python_of: tuple[str, ...] = ()
    """Real folders of the installations that stand in ``PYTHONPATH``, in order."""
    nnal: str = ""
    """``ATB_HOME_PATH``."""


class CannFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about CANN."""

    installed: tuple[Cann, ...]
    loaded: Loaded
    active: Cann | None
    """The installation that programs of this shell use."""
    nnal: tuple[str, ...] = ()
    """Folders of the acceleration library that are installed."""


def read(machine: Sight, *, files_only: bool = False) -> CannFacts:
    """Look in the places where installers put CANN, and where the variables point.

    Args:
        files_only: there is no shell; the installation that installers make the current one counts as active.
    """
    found: dict[str, Cann] = {}
    seen: dict[str, str] = {}
    for folder in _candidates(machine):
        real = _installed_in(machine, folder)
        seen[machine.real(folder)] = real
        if real not in found:
            one = _installation(machine, folder, real)
            if one is not None:
                found[real] = one
    loaded = _loaded(machine, {folder: real for folder, real in seen.items() if real in found})
    active = found.get(seen.get(machine.real(loaded.home), "")) if loaded.home else None
    if active is None and files_only:
        active = next(iter(found.values()), None)
    nnal = tuple(path for path in _nnal(machine) if machine.entries(path))
    return CannFacts(
        installed=tuple(sorted(found.values(), key=lambda one: one.path)), loaded=loaded, active=active, nnal=nnal
    )


def _roots(machine: Sight) -> list[str]:
    home = machine.environment.get("HOME", "/root").rstrip("/") or "/root"
    roots = ["/usr/local/Ascend", f"{home}/Ascend"]
    info = assignments(machine.read("/etc/Ascend/ascend_cann_install.info") or "")
    if info.get("Install_Path"):
        roots.append(info["Install_Path"].rstrip("/"))
    prefix = machine.environment.get("CONDA_PREFIX", "").rstrip("/")
    if prefix:
        roots.append(f"{prefix}/Ascend")
    return list(dict.fromkeys(roots))


def _candidates(machine: Sight) -> list[str]:
    folders = []
    for root in _roots(machine):
        folders.append(f"{root}/ascend-toolkit/latest")
        folders.append(f"{root}/cann")
        folders.append(f"{root}/nnae/latest")
        for name in machine.entries(f"{root}/ascend-toolkit") or ():
            if _VERSIONED.match(name):
                folders.append(f"{root}/ascend-toolkit/{name}")
        for name in machine.entries(root) or ():
            if name.startswith("cann-") and _VERSIONED.match(name):
                folders.append(f"{root}/{name}")
    home = machine.environment.get("ASCEND_HOME_PATH", "")
    if home:
        folders.append(home.rstrip("/"))
    opp = machine.environment.get("ASCEND_OPP_PATH", "").rstrip("/")
    if posixpath.basename(opp) == "opp":
        folders.append(posixpath.dirname(opp))
    for entry in machine.environment.get("LD_LIBRARY_PATH", "").split(":"):
        of_cann = _LIBRARIES.match(entry)
        if of_cann:
            folders.append(of_cann["home"])
    return list(dict.fromkeys(folders))


_PARTS: Final = ("runtime", "compiler", "toolkit", "opp", "aarch64-linux", "x86_64-linux")


def _installed_in(machine: Sight, folder: str) -> str:
    """The real folder of an installation; ``latest`` may be a folder whose parts are links into it, as in CANN 8.2."""
    real = machine.real(folder)
    for part in _PARTS:
        above, name = posixpath.split(machine.real(f"{folder}/{part}"))
        if name == part and above != real and _VERSIONED.match(posixpath.basename(above)):
            return above
    return real


def _installation(machine: Sight, shown: str, real: str) -> Cann | None:
    if machine.entries(shown) is None:
        return None
    parts = {
        name: outer or inner for name, inner, outer in _RUNNING.findall(machine.read(f"{shown}/version.cfg") or "")
    }
    info = _install_info(machine, shown)
    version = info.get("version", "")
    if not version:
        version = parts.get("toolkit", parts.get("runtime", ""))
    if not version:
        version = assignments(machine.read(f"{shown}/runtime/version.info") or "").get("Version", "")
    if not version:
        named = re.search(r"(?:cann-)?(\d+\.\d+[\w.]*)$", real)
        version = named[1] if named and machine.node(f"{shown}/opp") is not None else ""
    if not version:
        return None
    kernels = machine.entries(f"{shown}/{KERNELS}") or ()
    scripts = [f"{shown}/set_env.sh", f"{posixpath.dirname(shown)}/set_env.sh"]
    return Cann(
        path=real,
        shown=shown,
        version=version,
        architecture=info.get("arch", ""),
        kernels=tuple(name for name in kernels if name.startswith("ascend")),
        set_env=next((script for script in scripts if machine.node(script) is not None), ""),
        opp=machine.node(f"{shown}/opp") is not None,
        parts=parts,
    )


def _install_info(machine: Sight, shown: str) -> dict[str, str]:
    """What the installer wrote down; without it, the folder's name tells the architecture if there is one only."""
    folders = [name for name in machine.entries(shown) or () if name.endswith("-linux")]
    for name in folders:
        for file in machine.entries(f"{shown}/{name}") or ():
            if re.fullmatch(r"ascend_.*_install\.info", file):
                return assignments(machine.read(f"{shown}/{name}/{file}") or "")
    return {"arch": folders[0].removesuffix("-linux")} if len(folders) == 1 else {}


def _loaded(machine: Sight, installed: Mapping[str, str]) -> Loaded:
    environment = machine.environment
    home = environment.get("ASCEND_HOME_PATH", environment.get("ASCEND_TOOLKIT_HOME", "")).rstrip("/")
    homes: dict[str, None] = {}
    repeated = 0
    libraries = machine.real(f"{home}/lib64") if home else ""
    for entry in environment.get("LD_LIBRARY_PATH", "").split(":"):
        if not entry.startswith("/"):
            continue
        real = machine.real(entry.rstrip("/"))
        for folder, one in installed.items():
            if real.startswith((f"{folder}/", f"{one}/")):
                homes[one] = None
        if real == libraries:
            repeated += 1
    return Loaded(
        home=home,
        home_exists=bool(home) and machine.node(home) is not None,
        homes=tuple(homes),
        repeated=repeated,
        opp=environment.get("ASCEND_OPP_PATH", ""),
        opp_of=_owner(machine, environment.get("ASCEND_OPP_PATH", "").rstrip("/"), installed),
        python_of=tuple(
            dict.fromkeys(
                owner
                for entry in environment.get("PYTHONPATH", "").split(":")
                if (owner := _owner(machine, entry.rstrip("/"), installed))
            )
        ),
        nnal=environment.get("ATB_HOME_PATH", ""),
    )


def _owner(machine: Sight, path: str, installed: Mapping[str, str]) -> str:
    """The real folder of the installation that a path lies in; empty where there is none."""
    real = machine.real(path) if path else ""
    return next((one for folder, one in installed.items() if real.startswith((f"{folder}/", f"{one}/"))), "")


def _nnal(machine: Sight) -> list[str]:
    return [f"{root}/nnal/atb" for root in _roots(machine)]
