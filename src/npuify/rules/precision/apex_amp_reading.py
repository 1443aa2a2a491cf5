"""What a program does with apex.amp, as far as its statements have the usual form."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.rules.common.edits.statements import ends_its_line, indentation

if TYPE_CHECKING:
    from npuify.rules.common.packages.name_uses import Use
    from npuify.rules.context import PythonFile

AMP_LEVELS = {
    "O0": "O0 is plain float32: drop amp altogether; loss.backward() without a scaler",
    "O1": "O1 casts around each operator and keeps float32 weights, with dynamic loss scaling: that is autocast with "
    "a GradScaler",
    "O2": "O2 converts the model to float16 except for batch normalization, keeps float32 copies of the weights in "
    "the optimizer and scales the loss. Autocast with a GradScaler and a float32 model replaces it: the same "
    "copies, but with the casts repeated in each step. Checkpoints then contain float32 weights",
    "O3": "O3 is float16 throughout, without loss scaling: model.half(); bfloat16 is safer on Ascend 910B and later",
}


class AmpUse(NamedTuple):
    """A file's use of apex.amp, understood as a whole."""

    level: str
    model: str
    optimizer: str
    loss: str
    scaler: str
    """A name for the scaler that nothing else has."""
    initialization: ast.Assign
    forward: tuple[ast.stmt, ...]
    """From the model's call to the statement that the loss comes from; empty for O0, which casts nothing."""
    backward: ast.With
    arguments: str
    """The brackets behind ``backward``, with what they hold."""
    step: ast.stmt
    looks_at_gradients: bool
    """Whether anything stands between the backward pass and the step."""
    master_params: tuple[ast.Call, ...]
    states: tuple[ast.Attribute, ...]
    """``amp.state_dict`` and ``amp.load_state_dict``."""


class Incomplete(Exception):
    """Why a file's use of apex.amp cannot be rewritten."""


def level_of(call: ast.Call) -> str | None:
    """The opt_level of ``amp.initialize``, ``O1`` by default; None where it is no literal."""
    given = next((item.value for item in call.keywords if item.arg == "opt_level"), None)
    if given is None:
        return "O1" if len(call.args) <= 2 and all(item.arg for item in call.keywords) else None
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def read_amp(uses: list[Use], file: PythonFile) -> AmpUse:
    by_name: dict[str, list[Use]] = {}
    for use in uses:
        by_name.setdefault(use.name[len("apex.amp.") :], []).append(use)
        if use.call is None:
            raise Incomplete(phrase("{name} is passed on", name=use.name))
    odd = sorted(set(by_name) - {"initialize", "scale_loss", "master_params", "state_dict", "load_state_dict"})
    if odd:
        raise Incomplete(phrase("the file also uses apex.amp.{odd}", odd=odd[0]))
    for name in ("initialize", "scale_loss"):
        if len(by_name.get(name, ())) != 1:
            raise Incomplete(phrase("the file does not call {name} exactly once", name=name))
    start, model, optimizer, level = _initialization(by_name["initialize"][0], file)
    block, block_body, loss = _scaled(by_name["scale_loss"][0], optimizer, file)
    scaler = _scaler(start, block, optimizer, file)
    place = block_body.index(block)
    step_place = _step(block_body, place, optimizer, file)
    master: list[ast.Call] = []
    for use in by_name.get("master_params", ()):
        if use.call is None or [file.code(arg) for arg in use.call.args] != [optimizer] or use.call.keywords:
            raise Incomplete("master_params is called in another way")
        if not any(use.node in ast.walk(statement) for statement in block_body[place + 1 : step_place]):
            raise Incomplete("master_params is called elsewhere")
        master.append(use.call)
    backward = block.body[0]
    assert isinstance(backward, ast.Expr) and isinstance(backward.value, ast.Call)
    arguments = file.source.segment(file.source.end(backward.value.func), file.source.end(backward.value))
    if level == "O0" and ("state_dict" in by_name or "load_state_dict" in by_name):
        raise Incomplete("the state of amp is saved or loaded")
    states: list[ast.Attribute] = []
    for name in ("state_dict", "load_state_dict"):
        for use in by_name.get(name, ()):
            if file.scope(use.node) is not file.scope(start) or file.source.start(use.node) < file.source.end(start):
                raise Incomplete(phrase("{name} is called elsewhere", name=name))
            if not isinstance(use.node, ast.Attribute):
                raise Incomplete(phrase("{name} is imported by name", name=name))
            states.append(use.node)
    return AmpUse(
        level=level,
        model=model,
        optimizer=optimizer,
        loss=loss,
        scaler=scaler,
        initialization=start,
        forward=() if level == "O0" else _forward(block_body, place, model, loss, file),
        backward=block,
        arguments=arguments,
        step=block_body[step_place],
        looks_at_gradients=step_place > place + 1,
        master_params=tuple(master),
        states=tuple(states),
    )


def _initialization(use: Use, file: PythonFile) -> tuple[ast.Assign, str, str, str]:
    """The statement ``model, optimizer = amp.initialize(model, optimizer, …)``, its names and its level."""
    call = use.call
    statement = file.parent(call) if call is not None else None
    if call is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise Incomplete("the result of initialize is not assigned directly")
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or len(call.args) != 2:
        raise Incomplete("initialize is not called with one model and one optimizer")
    model, optimizer = (file.code(item) for item in target.elts)
    if [file.code(arg) for arg in call.args] != [model, optimizer]:
        raise Incomplete("the results of initialize get other names")
    level = level_of(call)
    if level not in ("O0", "O1"):
        raise Incomplete(
            phrase("{level} has no direct form", level=level) if level in AMP_LEVELS else "opt_level is not a literal"
        )
    for item in call.keywords:
        value = item.value.value if isinstance(item.value, ast.Constant) else None
        if item.arg not in ("opt_level", "verbosity") and not (item.arg == "loss_scale" and value == "dynamic"):
            raise Incomplete(phrase("initialize is called with {arg}", arg=item.arg))
    for up in file.ancestors(statement):
        if isinstance(up, ast.If) and "__main__" not in file.code(up.test):
            raise Incomplete("initialize is called under a condition")
        if isinstance(up, (ast.For, ast.While, ast.Try)):
            raise Incomplete("initialize is called inside another statement")
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
    if file.source.name_target("torch", file.scope(statement)) != "torch":
        raise Incomplete("torch is not imported under its own name")
    if not all(file.release.has(f"torch.npu.amp.{name}") for name in ("autocast", "GradScaler")):
        raise Incomplete(phrase("torch_npu {torch_npu} has no autocast", torch_npu=file.release.torch_npu))
    return statement, model, optimizer, level


def _scaled(use: Use, optimizer: str, file: PythonFile) -> tuple[ast.With, list[ast.stmt], str]:
    """The statement ``with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()``, its block and the loss."""
    call = use.call
    item = file.parent(call) if call is not None else None
    block = file.parent(item) if isinstance(item, ast.withitem) else None
    if call is None or not isinstance(item, ast.withitem) or not isinstance(block, ast.With) or len(block.items) != 1:
        raise Incomplete("scale_loss has no with statement of its own")
    if len(call.args) != 2 or call.keywords or file.code(call.args[1]) != optimizer:
        raise Incomplete("scale_loss is not called with just the loss and the optimizer")
    if not isinstance(call.args[0], ast.Name):
        raise Incomplete("the loss is not a plain name")
    only = block.body[0]
    called = only.value if isinstance(only, ast.Expr) else None
    if (
        len(block.body) != 1
        or not isinstance(item.optional_vars, ast.Name)
        or not isinstance(called, ast.Call)
        or file.code(called.func) != f"{item.optional_vars.id}.backward"
        or only.lineno == block.lineno
    ):
        raise Incomplete("the scale_loss block contains more than the backward pass")
    parent = file.parent(block)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(parent, name, None)
        if isinstance(body, list) and block in body:
            return block, body, call.args[0].id
    raise Incomplete("the scale_loss block is not in an ordinary block")


def _scaler(start: ast.Assign, block: ast.With, optimizer: str, file: PythonFile) -> str:
    """A name for the scaler that both places see and nothing else has."""
    scope, other = file.scope(start), file.scope(block)
    if optimizer.startswith("self."):
        classes = [
            next((up for up in file.ancestors(node) if isinstance(up, ast.ClassDef)), None) for node in (start, block)
        ]
        if classes[0] is None or classes[0] is not classes[1]:
            raise Incomplete("initialize and scale_loss are in different classes")
        name, attribute = "self.scaler", True
    else:
        if scope is not other and scope.parent is not None:
            raise Incomplete("initialize and scale_loss are in different functions")
        name, attribute = "scaler", False
        if scope is not other and any(part.partition(".")[0] in other.names for part in (optimizer, name)):
            raise Incomplete("the function that trains gets the optimizer as an argument")
    taken = re.search(rb"\.scaler\b" if attribute else rb"(?<![\w.])scaler\b", file.source.data)
    return name if taken is None else name.replace("scaler", "grad_scaler")


def _step(body: list[ast.stmt], place: int, optimizer: str, file: PythonFile) -> int:
    """Where ``optimizer.step()`` stands behind the backward pass, in the same block."""
    pattern = re.compile(rb"(?<![\w.])" + re.escape(optimizer.encode()) + rb"\s*\.\s*step\b")
    if len(pattern.findall(file.source.data)) != 1:
        raise Incomplete(phrase("{optimizer}.step is not called exactly once", optimizer=optimizer))
    for index in range(place + 1, len(body)):
        statement = body[index]
        if isinstance(statement, ast.Expr) and file.code(statement) == f"{optimizer}.step()":
            return index
    raise Incomplete(
        phrase("{optimizer}.step() does not follow the backward pass in the same block", optimizer=optimizer)
    )


def _forward(body: list[ast.stmt], place: int, model: str, loss: str, file: PythonFile) -> tuple[ast.stmt, ...]:
    """The statements from the model's call to the one that the loss comes from, which can be put into a block."""

    def calls_model(statement: ast.stmt) -> bool:
        return any(isinstance(node, ast.Call) and file.code(node.func) == model for node in ast.walk(statement))

    def makes_loss(statement: ast.stmt) -> bool:
        return any(
            isinstance(node, ast.Name) and node.id == loss and isinstance(node.ctx, ast.Store)
            for node in ast.walk(statement)
        )

    first = next((index for index in range(place) if calls_model(body[index])), None)
    last = next((index for index in range(place - 1, -1, -1) if makes_loss(body[index])), None)
    if first is None or last is None or last < first:
        raise Incomplete("the forward pass is not in the same block as the backward pass")
    statements = body[first : last + 1]
    indent = indentation(statements[0], file)
    if indent is None or not ends_its_line(statements[-1], file):
        raise Incomplete("the forward pass shares lines with other code")
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.lineno != node.end_lineno:
                raise Incomplete("the forward pass contains a multi-line string")
    return tuple(statements)
