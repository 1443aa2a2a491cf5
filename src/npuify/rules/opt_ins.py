"""What a user asks for beyond the rules that npuify brings: rules of the user's own, and other forms of the output."""

from __future__ import annotations

from typing import Literal

import msgspec

from npuify.model import Evidence, Safety, Severity

Meaning = Literal["call", "name", "module", "argument"]


class CustomRule(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a user's file of rules, from either of its forms."""

    origin: str
    """The row, as messages name it: ``rules.json, FuncNameModifyRule 2``."""
    meaning: Meaning
    name: str
    """The function, name or module that it is about; qualified, or (for calls) the last part alone."""
    replacement: str = ""
    """What stands there afterwards; empty for a finding without an edit."""
    keeps_module: bool = True
    """Of a call: only the last part changes, what stands before it stays."""
    index: int = -1
    """Of an argument: its place in the call, from 0; -1 where it is named."""
    keyword: str = ""
    """Of an argument: its keyword."""
    value: str = ""
    """Of an argument: its new value; empty to take it out."""
    unless: tuple[str, ...] = ()
    """Of an argument: patterns; one that is found in the argument, in any case, keeps it as it is."""
    safety: Safety = Safety.SAFE
    severity: Severity = Severity.WARNING
    message: str = ""
    advice: str = ""
    evidence: Evidence = Evidence.ASSUMED
    source: str = ""

    @property
    def word(self) -> str:
        """An identifier that stands in every file that the row can concern."""
        return self.name.rpartition(".")[2]


class ReplacedExtension(msgspec.Struct, frozen=True, order=True):
    """An extension of the project's own, and what takes the place of its operators.

    Attributes:
        module: as Python imports it.
        name: the module of ``npuify_kernels`` that takes its place.
        functions: of each operator its name, and the module and function that compute it.
        missing: its other operators that run on a GPU.
        imported_by_name: the files with calls of it that are no part of a package when they run.
        imported_either_way: those of which that cannot be told.
        files: all files with calls of it.
    """

    module: str
    name: str
    functions: tuple[tuple[str, str, str], ...]
    missing: tuple[str, ...] = ()
    imported_by_name: tuple[str, ...] = ()
    imported_either_way: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class OptIns(msgspec.Struct, frozen=True, kw_only=True):
    """What a run does only because it was asked to.

    Attributes:
        custom: rules of the user's own.
        cpu_fallback: put what only the CPU can compute there, with the copies around it.
        cpu_operators: module and name of the project's own operators that have an implementation for the CPU.
        replace_unsupported: take stand-ins for what the release aimed at lacks.
        replace_kernels: put modules of PyTorch in the place of CUDA extensions whose code is known.
        extensions: those extensions.
    """

    custom: tuple[CustomRule, ...] = ()
    cpu_fallback: bool = False
    cpu_operators: tuple[tuple[str, str], ...] = ()
    replace_unsupported: bool = False
    replace_kernels: bool = False
    extensions: tuple[ReplacedExtension, ...] = ()

    def digest(self) -> str:
        """Differs between opt-ins that make different findings."""
        return msgspec.json.encode(self).decode() if self != NO_OPT_INS else ""


NO_OPT_INS = OptIns()
