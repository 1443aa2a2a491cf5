"""What to edit so that the files of a group are on one device: worked out step by step, and kept here."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Place
    from npuify.rules.placement.view import Loop, ProgramView


MOST_FILES = 200
"""Files of one group; a program made of more is not looked at as a whole."""


class Unproven(Exception):
    """What has to be on the device cannot be followed to where it is made."""

    def __init__(self, node: ast.AST, reason: str, file: FileModel) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.file = file
        """The file that ``node`` stands in."""


class Plan:
    """What to edit in one file.

    Attributes:
        models: constructor calls of models and of losses with weights, to be followed by ``.to(device)``.
        values: expressions to be followed by ``.to(device)``.
        made: calls that make a tensor, to be given ``device=device``.
        elements: loops whose elements are moved: loop → the names of tensors that it binds.
        batches: loops whose whole batch is moved: loop → its name, and ``dict`` or ``list``.
        unpacked: statements behind which names that they unpack are moved.
        host: expressions on the device that numpy and its like get, to be followed by ``.cpu()``.
    """

    def __init__(self, file: FileModel, view: ProgramView) -> None:
        self.file = file
        self.models: dict[ast.Call, None] = {}
        self.values: dict[ast.expr, None] = {}
        self.made: dict[ast.Call, None] = {}
        self.elements: dict[Loop, dict[str, None]] = {}
        self.batches: dict[Loop, tuple[str, str]] = {}
        self.unpacked: dict[ast.stmt, dict[str, None]] = {}
        self.host: dict[ast.expr, None] = {}
        self.nodes = [node for node in view.nodes(file) if not view.in_module(node, file)]
        """All but the code of modules."""
        self.calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self.called = dict.fromkeys(node for node in self.calls if view.is_run(node, file))
        """The calls that run models and losses."""

    @property
    def changes(self) -> bool:
        """Whether anything is to be edited."""
        return bool(
            self.models or self.values or self.made or self.elements or self.batches or self.unpacked or self.host
        )

    @property
    def size(self) -> int:
        """A number that grows as long as anything is found."""
        own = len(self.values) + len(self.made) + len(self.batches)
        return own + sum(map(len, self.elements.values())) + sum(map(len, self.unpacked.values()))


class Together:
    """The plans of the files that are placed together, and what is known of all of them.

    Attributes:
        placed: names whose values are on the device, with the function that binds them.
        settled: calls that make models which are moved, here or with what they are part of.
        open: bindings that are being followed, since data may go round in circles.
        giving: calls whose results are being moved, since functions may call each other.
        returning: calls whose results are being looked at.
    """

    def __init__(self, view: ProgramView, files: dict[str, FileModel]) -> None:
        self.view = view
        self.plans = {relative: Plan(file, view) for relative, file in files.items()}
        self.placed: set[tuple[ast.AST, str]] = set()
        self.settled: set[Place] = set()
        self.open: set[ast.AST] = set()
        self.giving: set[ast.AST] = set()
        self.returning: set[ast.AST] = set()

    def plan_of(self, file: FileModel) -> Plan | None:
        """The plan of a file; None where it does not belong to the group."""
        return self.plans.get(file.relative)

    @property
    def size(self) -> int:
        return len(self.placed) + sum(plan.size for plan in self.plans.values())
