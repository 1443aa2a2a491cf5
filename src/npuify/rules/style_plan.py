"""What is decided about a style once for the whole project, before any file is looked at."""

from __future__ import annotations

import msgspec


class Home(msgspec.Struct, frozen=True, array_like=True):
    """Where a file takes the helper module from."""

    helper: str
    """The helper's path in the project."""
    package: str = ""
    """The package that holds it, as the file's import names it (``pkg``, ``.``, ``..``); empty for a plain module."""


class StylePlan(msgspec.Struct, frozen=True):
    """The style of a run, with what it knows of the project. Sent to worker processes."""

    style: str = "npu"
    place_on_npu: bool = False
    """Whether programs that name no device are given one."""
    device_default: bool = False
    """Whether programs that support an NPU by themselves get it as the default of their options."""
    placed: frozenset[str] = frozenset()
    """The files that may be such programs, or parts of one."""
    torch: str = ""
    """Portable: the lowest torch that the project admits; empty where it does not say."""
    accelerator: frozenset[str] = frozenset()
    """Portable: the names of ``torch.accelerator`` that this torch has."""
    pure: bool = False
    """Portable: ``torch.accelerator`` has all that the project uses, so that no helper is needed."""
    helper: str = "compute_device"
    """Portable: the name of the helper module."""
    homes: dict[str, Home] = {}
    """Portable: for each Python file, where it takes the helper from."""
    entries: frozenset[str] = frozenset()
    """Auto: the files that import ``transfer_to_npu``."""
    has_cuda_paths: bool = False
    """Auto: whether a file of the project says a path that has "cuda" in it."""
    library: str = ""
    """Auto: the file at which to say that the project has no entry point; empty where it has one."""

    def needs_whole(self, relative: str, raw: bytes) -> bool:
        """Whether something may be imported into a file that has no word of CUDA, or none any more."""
        if relative in self.entries or relative in self.placed:
            return True
        return self.style == "portable" and f"{self.helper}.".encode() in raw

    def digest(self) -> str:
        """A text that differs wherever findings may."""
        if self == StylePlan():
            return ""
        homes = ",".join(f"{file}={home.helper}:{home.package}" for file, home in sorted(self.homes.items()))
        parts = [
            self.style,
            str(self.place_on_npu),
            str(self.device_default),
            self.torch,
            str(self.pure),
            self.helper,
            homes,
        ]
        lists = [*sorted(self.accelerator), "|", *sorted(self.entries), "|", *sorted(self.placed)]
        return "|".join([*parts, *lists, self.library, str(self.has_cuda_paths)])

    def of_helper(self, name: str | None) -> str:
        """The name within the portable helper that a qualified name stands for, also where a package holds the helper.

        Empty for any other name, and in the other styles.
        """
        if name is None or self.style != "portable":
            return ""
        _, found, inside = f".{name}".partition(f".{self.helper}.")
        return inside if found else ""

    def module_import(self, file: str) -> str:
        """The statement that binds the helper module in a file."""
        home = self.homes.get(file) or Home(f"{self.helper}.py")
        return f"from {home.package} import {self.helper}" if home.package else f"import {self.helper}"

    def names_import(self, file: str, names: str) -> str:
        """The statement that takes names out of the helper module."""
        home = self.homes.get(file) or Home(f"{self.helper}.py")
        if not home.package:
            return f"from {self.helper} import {names}"
        dot = "" if home.package.endswith(".") else "."
        return f"from {home.package}{dot}{self.helper} import {names}"
