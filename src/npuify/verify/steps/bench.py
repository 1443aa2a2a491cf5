"""The two copies of the project, and how a program is run in them on each side."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase

from .model import StepResult, Where
from .plan import filled
from .runner import Ran, npuify, run
from .start import in_a_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .model import Devices
    from .plan import Plan

_MANY: Final = 8
"""NPUs of a simulated machine whose program starts several processes: as many as a server usually has."""
_LEFT_OUT: Final = (
    ".git",
    "__pycache__",
    ".venv",
    "venv",
    "node_modules",
    "npuify-report",
    ".mypy_cache",
    ".pytest_cache",
)


@dataclass
class Bench:
    """Everything that a step needs."""

    plan: Plan
    devices: Devices
    work: Path
    """Where captures and logs go."""
    reference: Path
    """A copy of the original project."""
    target: Path
    """A copy of the migrated one."""
    reference_device: str
    """``cpu`` or ``cuda``."""
    simulated: bool
    """Whether the target is the simulated NPU."""
    timeout: float
    iterations: int
    cards: int
    given: Path | None = None
    """A capture of the original that was made elsewhere."""
    short: bool = False
    """Whether only forward, backward and their comparison are wanted."""
    done: list[StepResult] = field(default_factory=list)
    original_fails_too: bool = False
    """Whether the original was seen to end as the migrated program does."""
    original_failed: str = ""
    """Why the original ended, where the migrated program does not and what both computed before agrees."""
    cpu_entry: tuple[str, ...] = ()
    """How the original was started where it asked for CUDA, which is not here; empty: as the plan says."""
    _first: dict[Path, frozenset[Path]] = field(default_factory=dict)
    """The files of each copy before anything ran in it."""

    def __post_init__(self) -> None:
        for folder in (self.reference, self.target):
            self._first[folder] = frozenset(files(folder))

    def tidy(self) -> None:
        """Take away what runs have written: many programs go on from a checkpoint that they find."""
        for folder, first in self._first.items():
            for path in set(files(folder)) - first:
                path.unlink(missing_ok=True)

    def without_folders(self, text: str) -> str:
        """``text`` as it is in both copies."""
        return text.replace(str(self.target), "").replace(str(self.reference), "")

    def place(self, *, target: bool) -> Path:
        """The folder that the migrated program, or the original, is started in."""
        return (self.target if target else self.reference) / self.plan.folder

    @property
    def where(self) -> Where:
        """On what the migrated program runs."""
        return Where.SIMULATION if self.simulated else Where.HARDWARE

    def capture(
        self, name: str, *, target: bool, words: Sequence[str], steps: int, samples: int = 1024
    ) -> tuple[Ran, Path]:
        """Run a program under ``npuify verify capture``, on the target or on the reference."""
        folder = self.work / "captures" / name
        folder.parent.mkdir(exist_ok=True)
        device = "npu" if target else self.reference_device
        kind = "simulated" if target and self.simulated else "cpu" if device == "cpu" else "auto"
        command = filled(words, device)
        options = ["--steps", str(steps), "--samples", str(samples), "--device", kind]
        if kind == "simulated":
            options += ["--devices", str(self._count(words))]
        shown = phrase(
            "npuify verify capture -o captures/{name} {value}", name=name, value=in_a_line([*options, *command])
        )
        copy = self.target if target else self.reference
        ran = run(
            [*npuify(), "verify", "capture", "-o", str(folder), *options, "--python", self.devices.python, *command],
            self.place(target=target),
            self.work / f"{name}.log",
            shown=self._in(shown),
            timeout=self.timeout,
            environment={**self._visible(words), **own_modules(copy)},
        )
        return ran, folder

    def program(self, name: str, words: Sequence[str]) -> Ran:
        """Run the migrated program as it is, on the target."""
        command, place = filled(words, "npu"), self.place(target=True)
        log = self.work / f"{name}.log"
        if self.simulated:
            options = ["--devices", str(self._count(words)), "--cpu-random"]
            return run(
                [*npuify(), "simulate", *options, "--python", self.devices.python, *command],
                place,
                log,
                shown=self._in(phrase("npuify simulate {value}", value=in_a_line([*options, *command]))),
                timeout=self.timeout,
                environment=own_modules(self.target),
            )
        from npuify.process.command import command as resolved

        inside = [str(place / command[0]), *command[1:]] if command[0].endswith(".py") else command
        module = command[0] == "-m"
        return run(
            resolved(inside[module:], self.devices.python, module),
            place,
            log,
            shown=self._in(" ".join(command)),
            timeout=self.timeout,
            environment={**self._visible(words), **own_modules(self.target)},
        )

    def _in(self, shown: str) -> str:
        """A command as it is told, with the folder that it is started in."""
        return f"cd {self.plan.folder} && {shown}" if self.plan.folder else shown

    def _count(self, words: Sequence[str]) -> int:
        """NPUs to simulate: a program that is started by itself gets one, as many take all that they find."""
        return 1 if self._alone(words) else max(self.cards, _MANY)

    def _alone(self, words: Sequence[str]) -> bool:
        """Whether a command starts one process: a program that is named, and not to be tried on several cards."""
        return (words[0].endswith(".py") or words[0] == "-m") and tuple(words) != self.plan.cards

    def _visible(self, words: Sequence[str]) -> dict[str, str]:
        """The same on a machine with cards: the first of those that the user has left visible."""
        if not self._alone(words):
            return {}
        names = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
        return {name: os.environ.get(name, "0").split(",")[0] for name in names}


def own_modules(folder: Path) -> dict[str, str]:
    """The environment in which a project that is a package is found where it lies, as if it were installed there.

    Else the programs would find none, or the one that is installed: the original, for both.
    """
    if not any((folder / name).is_file() for name in ("setup.py", "setup.cfg", "pyproject.toml")):
        return {}
    places = [str(place) for place in (folder / "src", folder) if place.is_dir()]
    return {"PYTHONPATH": os.pathsep.join([*places, *filter(None, [os.environ.get("PYTHONPATH", "")])])}


def files(folder: Path) -> Iterator[Path]:
    """All files below a folder; nothing behind a link."""
    for here, _, names in os.walk(folder):
        yield from (Path(here, name) for name in names)


def copy(source: Path, destination: Path) -> None:
    """Copy a project, or one program, so that running it leaves the original as it is.

    Links are copied as links: a data set behind one is used where it lies.
    """
    if source.is_file():
        destination.mkdir(parents=True)
        shutil.copy2(source, destination / source.name)
        return
    shutil.copytree(source, destination, symlinks=True, ignore=_ignored, ignore_dangling_symlinks=True)


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT or _leads_nowhere(Path(folder, name))}


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()
