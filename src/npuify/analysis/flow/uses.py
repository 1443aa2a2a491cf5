"""What a value is used for: whether a string reaches a device, a comparison with one, a path, a message or a key."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.arguments import defaults_of, parameter_for
from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS, FUNCTIONS
from npuify.analysis.flow import device_names
from npuify.analysis.flow.call_uses import (
    called_name,
    calls_own,
    is_for_heirs,
    is_one_of_several,
    use_in_library,
    use_of_argument,
    use_of_keyword,
)
from npuify.analysis.flow.destinations import DEVICE_USES, OTHER_USES, Destination, Use, Uses
from npuify.analysis.flow.device_names import names_device
from npuify.analysis.flow.devices import (
    allows_devices,
    denotes_device,
    is_device_table,
    is_surely_device,
    lists_devices,
)
from npuify.analysis.flow.flows import (
    CHANGING_TEXT,
    MOST,
    callees,
    flow_of,
    followed,
    leaves,
    next_of,
)
from npuify.analysis.flow.owners import owner_of, owner_of_given_table, owner_of_object
from npuify.analysis.flow.readers import is_torchs, owners_of
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.flow.destinations import Seen
    from npuify.analysis.flow.occurrences import Occurrence
    from npuify.analysis.values import Place


def uses_of(node: ast.expr, file: FileModel, model: Engine, *, enough: bool = False) -> Uses:
    """What the value of an expression is used for, wherever it goes.

    With ``enough``, the first device that it reaches is enough, and a name may tell it.
    """
    found: dict[tuple[Use, Place], Destination] = {}
    leaving: list[Occurrence] = []
    places = 0
    for occurrence in followed(node, file, model, by_name=True):
        places += 1
        if leaves(occurrence, model):
            leaving.append(occurrence)
        seen = (_by_form(occurrence, model) if enough else None) or _use_at(occurrence, model)
        if seen is None:
            continue
        use, what, sure = seen
        sure = sure and occurrence.sure
        place = occurrence.file.place(occurrence.node)
        found.setdefault((use, place), Destination(use, place, what, tuple(occurrence.step.chain()), sure))
        if enough and use in DEVICE_USES:
            break
    own = file.place(node)
    told = any(use in OTHER_USES and place == own for use, place in found)
    is_followed = places <= MOST and not model.is_spent
    uses = Uses(tuple(found.values()), is_followed and not leaving, told)
    if leaving and not uses.is_told:
        beyond = not uses.is_called_device or all(map(_hands_back, leaving))
        uses = uses._replace(is_told_beyond=beyond)
    is_handed_over = not found and isinstance(parent := file.parent(node), ast.Call) and calls_own(parent, file, model)
    is_candidate = uses.is_called_device or is_handed_over
    if is_candidate and all(use is Use.CALLED or use in OTHER_USES for use, _ in found) and is_followed:
        stays = not leaving or (model.reach is Reach.IMPORTS and all(_is_read_here(one, model) for one in leaving))
        return uses._replace(is_own=stays and not _ends_openly(node, file, model))
    return uses


def _hands_back(here: Occurrence) -> bool:
    return isinstance(here.file.parent(here.node), (ast.Return, ast.Yield))


def _is_read_here(here: Occurrence, model: Engine) -> bool:
    """Whether a value is put into an attribute of a class of the project, and no other file reads one called so."""
    parent = here.file.parent(here.node)
    targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
    if not all(isinstance(target, ast.Attribute) and _is_own_attribute(target, here.file, model) for target in targets):
        return False
    return not any(
        _may_read(target, other, here.file, model)
        for target in targets
        if isinstance(target, ast.Attribute)
        for other in model.files_with(f".{target.attr}")
        if other is not here.file
    )


def _may_read(target: ast.Attribute, other: FileModel, file: FileModel, model: Engine) -> bool:
    """Whether another file may read what a class of the project puts into an attribute: not of other classes."""
    own = owners_of(target.value, file, model)
    for node in other.references(target.attr):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            read = owners_of(node.value, other, model)
            if (not read and not is_torchs(node.value, other, model)) or not own.isdisjoint(read):
                return True
    return False


def _ends_openly(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether a value gets somewhere from where it cannot be followed."""
    for here in followed(node, file, model, by_name=True):
        seen = _use_at(here, model)
        if seen is not None and seen[0] is not Use.CALLED:
            continue
        parent = here.file.parent(here.node)
        if isinstance(parent, (ast.Return, ast.Yield)):
            function = here.file.frame(parent)
            if not isinstance(function, DEFINITIONS) or not model.callers(function, here.file).is_known:
                return True
        call = here.file.parent(parent) if isinstance(parent, ast.keyword) else parent
        if isinstance(call, ast.Call) and any(is_one_of_several(one) for one, _, _ in callees(call, here.file, model)):
            return True
        if isinstance(parent, (ast.arguments, ast.Expr, ast.withitem)) or any(True for _ in next_of(here, model)):
            continue
        taking = [
            function
            for function, _, taken in (callees(call, here.file, model) if isinstance(call, ast.Call) else ())
            if isinstance(call, ast.Call) and parameter_for(here.node, call, function, taken) is not None
        ]
        if taking:
            if any(map(is_for_heirs, taking)):
                return True
            continue
        targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
        if not all(isinstance(target, ast.Name) or _is_own_attribute(target, here.file, model) for target in targets):
            return True
    return False


def _is_own_attribute(target: ast.AST | None, file: FileModel, model: Engine) -> bool:
    owners = owners_of(target.value, file, model) if isinstance(target, ast.Attribute) else set()
    return bool(owners) and not any(_gives_by_name(place, file, model) for place in owners)


_BY_NAME = re.compile(rb"getattr\(\s*self\s*,\s*[^'\"\s]|\b(?:vars|asdict)\(\s*self\s*\)|self\.__dict__")


def _gives_by_name(owner: Place, file: FileModel, model: Engine) -> bool:
    """Whether a class gives its attributes by names that are known when it runs: ``return getattr(self, key)``."""
    home = model.node(owner, file)
    if home is None or not isinstance(home[1], ast.ClassDef):
        return False
    source = home[0].source
    if _BY_NAME.search(source.data, source.start(home[1])) is None:
        return False
    source.methods_revealed(home[1])  # the class ends where the last of those does that were parsed
    return _BY_NAME.search(source.data, source.start(home[1]), source.end(home[1])) is not None


def _by_form(here: Occurrence, model: Engine) -> Seen | None:
    """Whether an argument is a device by what takes it, without asking where else it goes."""
    node, file = here.node, here.file
    parent = file.parent(node)
    if owner_of(node, file) is not None:
        return None
    if isinstance(parent, ast.keyword):
        call = file.parent(parent)
        if isinstance(call, ast.Call) and called_name(call) == "dict":
            return None  # whose word it is, the call that the dictionary is spread into tells
        named = parent.arg is not None and names_device(parent.arg)
        if not named or not isinstance(call, ast.Call) or calls_own(call, file, model):
            return None
        return Use.DEVICE, f"{parent.arg}=", False
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return None
    if isinstance(parent.func, ast.Attribute) and parent.func.attr in device_names.DEVICE_METHODS:
        return None if calls_own(parent, file, model) else (Use.DEVICE, f".{parent.func.attr}()", False)
    name = file.source.qualname(parent.func) or ""
    return use_in_library(name, False, called_name(parent)) if name.startswith("torch.") else None


def _use_at(here: Occurrence, model: Engine) -> Seen | None:
    """What is done with a value where an expression has it; None where it is only handed on."""
    node, file = here.node, here.file
    parent = file.parent(node)
    framework = owner_of(node, file) if not here.depth else None
    if framework is not None:
        return Use.OTHER, phrase("given to {name}", name=framework.name), True
    if isinstance(parent, ast.keyword):
        call = file.parent(parent)
        return use_of_keyword(parent, call, file, model) if isinstance(call, ast.Call) else None
    if isinstance(parent, ast.Call):
        return None if node is parent.func else use_of_argument(node, parent, file, model)
    if isinstance(parent, ast.Compare):
        return _of_comparison(node, parent, file, model)
    if isinstance(parent, ast.Subscript) and node is parent.slice:
        if any(value.name.endswith(".Literal") for value in model.values(parent.value, file)):
            return None
        return Use.KEY, phrase("a key of {value}", value=file.code(parent.value)), True
    if isinstance(parent, ast.Dict):
        return _of_entry(node, parent, file, model)
    if isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
        return _listed(node, parent, file, model)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
        return Use.PATH, "a part of a path", True
    if isinstance(parent, ast.Raise):
        return Use.MESSAGE, "raised", True
    if isinstance(parent, ast.Expr):
        return Use.OTHER, "a statement of its own", True
    if isinstance(parent, ast.withitem) and here.depth and parent.optional_vars is None:
        return Use.OTHER, "a context whose value nothing takes", True
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        if isinstance(parent, ast.AnnAssign) and allows_devices(parent.annotation):
            return Use.DEVICE, phrase("annotated as {annotation}", annotation=file.code(parent.annotation)), True
        targets: list[ast.expr] = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        for target in targets:
            framework = owner_of_object(target.value, file) if isinstance(target, ast.Attribute) else None
            if framework is not None and not here.depth:
                return Use.OTHER, phrase("given to {name}", name=framework.name), True
        return _looked_up_as_member(parent, file, model) or _by_target(targets)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and node is parent.iter:
        return _by_target([parent.target])
    if isinstance(parent, ast.arguments):
        return _as_default(node, parent, file)
    if isinstance(parent, ast.MatchValue):
        match = next((up for up in file.ancestors(parent) if isinstance(up, ast.Match)), None)
        if match is not None and denotes_device(match.subject, file, model):
            return (
                Use.COMPARED,
                phrase("a case of {subject}", subject=file.code(match.subject)),
                is_surely_device(match.subject, file, model),
            )
        return Use.UNKNOWN, "a case", True
    if isinstance(parent, ast.Attribute):
        return None if here.depth else _of_attribute(parent, file)
    if isinstance(parent, (ast.Return, ast.Lambda)):
        function = next((up for up in file.ancestors(node) if isinstance(up, DEFINITIONS)), None)
        name = getattr(function, "name", "")
        return (
            (Use.DEVICE, phrase("returned by {name}()", name=name), False)
            if device_names.DEVICE_FUNCTION.search(name) and "autocast" not in name  # that gives a context
            else None
        )
    return None


def _listed(node: ast.expr, display: ast.List | ast.Tuple | ast.Set, file: FileModel, model: Engine) -> Seen | None:
    """What a string is by what is beside it in a list, or by the name that gets it from there."""
    parent = file.parent(display)
    if isinstance(parent, ast.Assign) and isinstance(display, ast.Tuple):
        others = [target for target in parent.targets if isinstance(target, ast.Tuple)]
        if others and all(len(target.elts) == len(display.elts) for target in others):
            place = display.elts.index(node)
            return _by_target([target.elts[place] for target in others])
    if isinstance(parent, ast.Dict) and display in parent.keys:
        return Use.KEY, "a part of a key", True
    if lists_devices(display.elts):
        return Use.DEVICE, phrase("listed in {display}", display=file.code(display)), True
    for item in display.elts:
        function = item.func if isinstance(item, ast.Call) else item
        if isinstance(function, ast.Attribute):
            if any(value.name.startswith("torch.cuda.") for value in model.values(function, file)):
                return Use.DEVICE, phrase("listed beside {item}", item=file.code(item)), False
    return None


def _looked_up_as_member(statement: ast.AST, file: FileModel, model: Engine) -> Seen | None:
    """Whether the value of an enumeration's member is looked for by a device's type: ``Kind(x.device.type)``."""
    owner = file.parent(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(owner, ast.ClassDef):
        return None
    if not any((file.source.qualname(base) or "").startswith("enum.") for base in owner.bases):
        return None
    homes = [file]
    if model.reach is Reach.PROGRAM:
        homes += [other for other in model.files_with(f"{owner.name}(") if other is not file]
    for home in homes:
        for use in home.references(owner.name):
            call = home.parent(use)
            if not isinstance(call, ast.Call) or call.func is not use or len(call.args) != 1 or call.keywords:
                continue
            if is_surely_device(call.args[0], home, model):
                return Use.COMPARED, phrase("looked for as {call}", call=home.code(call)), True
    return None


def _as_default(node: ast.expr, arguments: ast.arguments, file: FileModel) -> Seen | None:
    function = file.parent(arguments)
    for arg, default in defaults_of(function) if isinstance(function, FUNCTIONS) else ():
        if default is node:
            if allows_devices(arg.annotation):
                return Use.DEVICE, phrase("default of {arg}, which is one of several devices", arg=arg.arg), True
            if names_device(arg.arg):
                return Use.CALLED, phrase("default of {arg}", arg=arg.arg), False
    return None


def _by_target(targets: list[ast.expr]) -> Seen | None:
    for target in targets:
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            name = str(target.slice.value)
        if names_device(name):
            return Use.CALLED, phrase("assigned to {name}", name=name), False
    return None


def _of_attribute(attribute: ast.Attribute, file: FileModel) -> Seen | None:
    call = file.parent(attribute)
    if isinstance(call, ast.Call) and call.func is attribute and attribute.attr == "join":
        return Use.MESSAGE, "joins strings", True
    if isinstance(call, ast.Call) and call.func is attribute and attribute.attr in CHANGING_TEXT:
        return None
    if attribute.attr == "value":
        return None  # that of a member of an enumeration
    return Use.UNKNOWN, phrase(".{attr} of it", attr=attribute.attr), True


def _of_comparison(node: ast.expr, compare: ast.Compare, file: FileModel, model: Engine) -> Seen:
    others = [side for side in (compare.left, *compare.comparators) if side is not node]
    for side in others:
        if denotes_device(side, file, model):
            return (
                Use.COMPARED,
                phrase("compared with {side}", side=file.code(side)),
                is_surely_device(side, file, model),
            )
        if isinstance(side, (ast.Tuple, ast.List, ast.Set)) and lists_devices(side.elts):
            return Use.COMPARED, phrase("compared with {side}", side=file.code(side)), True
    return Use.UNKNOWN, phrase("compared in {compare}", compare=file.code(compare)), True


def _of_entry(node: ast.expr, table: ast.Dict, file: FileModel, model: Engine) -> Seen | None:
    if node in table.keys:
        if _takes_devices(table, file, model):
            return Use.DEVICE, "a table from device to device", True
        return (Use.DEVICE_KEY if is_device_table(table) else Use.KEY), "a key of a table", True
    key = table.keys[table.values.index(node)] if node in table.values else None
    if isinstance(key, ast.Constant) and isinstance(key.value, str) and names_device(key.value):
        framework = owner_of_given_table(table, file, model)
        if framework is not None:
            return Use.OTHER, phrase("given to {name}", name=framework.name), True
        return Use.DEVICE, phrase("the entry {value!r}", value=key.value), False
    return None


def _takes_devices(table: ast.Dict, file: FileModel, model: Engine) -> bool:
    """Whether a dict maps devices to devices: it is passed as ``map_location`` or ``device_map``, or so named."""
    parent = file.parent(table)
    if isinstance(parent, ast.Dict) and table in parent.values:
        # device_maps={"worker": {"cuda:0": "cuda:1"}} of RPC
        outer = file.parent(parent)
        return isinstance(outer, ast.keyword) and outer.arg == "device_maps"
    if isinstance(parent, ast.keyword):
        return parent.arg in ("map_location", "device_map")
    if isinstance(parent, ast.Assign):
        return any(getattr(target, "id", "") in ("map_location", "device_map") for target in parent.targets)
    if isinstance(parent, ast.Call) and parent.args[1:2] == [table]:
        return called_name(parent) == "set_device_map" or any(
            value.name == "torch.load" for value in model.values(parent.func, file)
        )
    return False


def looked_up_by_device(table: ast.Dict, file: FileModel, model: Engine) -> bool:
    """Whether a table is looked up with a device's type, directly or by its name."""
    for occurrence in flow_of(table, file, model).occurrences:
        node, home = occurrence.node, occurrence.file
        parent = home.parent(node)
        if occurrence.depth:
            continue
        if isinstance(parent, ast.Subscript) and parent.value is node and denotes_device(parent.slice, home, model):
            return True
        call = home.parent(parent) if isinstance(parent, ast.Attribute) and parent.attr == "get" else None
        if isinstance(call, ast.Call) and call.args and denotes_device(call.args[0], home, model):
            return True
    return False
