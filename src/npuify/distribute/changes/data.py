"""Training data: every process gets its own samples, in another order in each epoch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from npuify.analysis.arguments import argument_for
from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable
from npuify.distribute.reading.loops import inside
from npuify.language import phrase
from npuify.model import Severity

if TYPE_CHECKING:
    from npuify.analysis.values import Value
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Data, Loop, Loops, Pass
    from npuify.distribute.reading.models import Models
    from npuify.distribute.reading.program import Program, Unit
    from npuify.model import Edit

_OF_PYTORCH = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_COUNTING = frozenset(("range", "trange", "tqdm", "count", "track"))
_BY_HAND = (
    "each process must use its own part: of a batch's indices keep "
    "indices[npu_distributed.rank()::npu_distributed.world_size()], or draw them with the seed seed + "
    "npu_distributed.rank()"
)


def share_out(
    program: Program,
    loops: Loops,
    models: Models,
    draft: Draft,
    *,
    keep_global_batch: bool,
    data_parallel: bool = False,
) -> None:
    """Give the training loaders samplers, and set their epoch.

    Args:
        data_parallel: the program used DataParallel, so that its batches were those of several cards.
    """
    loaders: dict[Value, Pass] = {}
    for one in loops.passes:
        if one.trains and one.data is None:
            _made_by_hand(one, program, models, draft)
        for loader in one.loaders if one.trains else ():
            loaders[loader] = one
    for loader, one in sorted(loaders.items(), key=lambda item: item[0].place or item[1].unit.place(item[1].node)):
        share_out_one(loader, one, program, draft, keep=keep_global_batch, data_parallel=data_parallel)
    for one in loops.passes:
        if one.trains and one.data is not None and not all(_is_stream(loader, program) for loader in one.loaders):
            set_epoch_of(one, program, loops, draft)


def _made_by_hand(one: Pass, program: Program, models: Models, draft: Draft) -> None:
    """Batches that come from no DataLoader: say where the program makes them, and what to add there."""
    message = "batches do not come from a DataLoader here, so every process would train on the same ones"
    regions = [(one.node, one.unit), *program.reached((one.node, one.unit)).items()]
    for call, unit in models.uses:
        if not any(where is unit and inside(call, region) for region, where in regions):
            continue
        given = {item.id for argument in call.args for item in ast.walk(argument) if isinstance(item, ast.Name)}
        frame = unit.function_around(call)
        for node in ast.walk(frame):
            if not isinstance(node, ast.Assign) or node.lineno > call.lineno or inside(call, node):
                continue
            names = [item.id for item in ast.walk(node.targets[0]) if isinstance(item, ast.Name)]
            if given.intersection(names) and isinstance(node.value, (ast.Call, ast.Tuple, ast.Subscript)):
                advice = phrase(
                    "if the first dimension is the batch, add after it: {text} = npu_distributed.own_part({text}); "
                    "then all cards share the batch. Or {by_hand}",
                    text=", ".join(names),
                    by_hand=_BY_HAND,
                )
                draft.left("NPU353", unit, node, message, advice)
                return
    draft.left("NPU353", one.unit, one.node, message, _BY_HAND)


def _is_stream(loader: Value, program: Program) -> bool:
    """Whether a loader goes over an IterableDataset, which has no sampler whose epoch could be set."""
    call, unit = program.maker(loader) or (None, None)
    dataset = _argument(call, 0, "dataset") if isinstance(call, ast.Call) else None
    return unit is not None and bool(program.of_kind(dataset, unit, Kind.ITERABLE_DATASET))


def share_out_one(
    loader: Value, one: Pass, program: Program, draft: Draft, *, keep: bool, data_parallel: bool = False
) -> None:
    """Give one training loader a sampler, or say what has to be done."""
    call, unit = program.maker(loader) or (one.node, one.unit)
    if not isinstance(call, ast.Call):
        draft.left(
            "NPU353",
            unit,
            call,
            "where the loader of this loop is made is not known",
            "where it is made, give it a sampler: npu_distributed.shard(DataLoader(…))",
        )
        return
    if loader.definition is not None:
        draft.left(
            "NPU353",
            unit,
            call,
            "this loader is one of the program's classes, whose sample order is unknown",
            "give its __init__ a sampler created by npu_distributed.sampler(dataset, shuffle=…), and pass it on to "
            "DataLoader.__init__ with shuffle=False",
        )
        return
    editor = draft.editor(unit)
    dataset = _argument(call, 0, "dataset")
    if dataset is not None and program.of_kind(dataset, unit, Kind.ITERABLE_DATASET):
        _stream(call, dataset, program, unit, draft)
        return
    global_batch(call, unit, draft, keep, data_parallel)
    explicit = _explicit_sampler(call, dataset, program, unit, draft, keep)
    if explicit is not None:
        edits, order = explicit
        message = phrase("each process trains on its own part of the samples; {order}", order=order)
    elif loader.name not in _OF_PYTORCH:
        message = phrase("{name}() makes this loader, whose order of samples is not known", name=loader.name)
        draft.left("NPU353", unit, call, message, "let it give each process its own part of the samples")
        return
    else:
        tail = ", keep_global_batch=True)" if keep else ")"
        edits = editor.around(call, "npu_distributed.shard(", tail)
        message = "each process trains on its own part of the samples, in the loader's own order"
    draft.done("NPU353", unit, call, message, edits, subject="torch.utils.data.DataLoader")


def _stream(call: ast.Call, dataset: ast.expr, program: Program, unit: Unit, draft: Draft) -> None:
    """Say where an IterableDataset gives its samples, and what to write there."""
    message = "the data set is an IterableDataset, which no sampler can split"
    part = "npu_distributed.rank(), None, npu_distributed.world_size())"
    tail = "; every process must yield the same number, so drop the surplus"
    for value in program.of_kind(dataset, unit, Kind.ITERABLE_DATASET):
        definition = program.class_of(value)
        found = program.method(*definition, "__iter__") if definition is not None else None
        loops = [one for one in found[0].body if isinstance(one, ast.For)] if found is not None else []
        if found is not None and len(loops) == 1:
            where = found[1]
            code = where.source.code
            text = f"for {code(loops[0].target)} in itertools.islice({code(loops[0].iter)}, {part}:"
            draft.left(
                "NPU353",
                where,
                loops[0],
                message,
                phrase("every world_size()-th sample only: {text}{tail}", text=text, tail=tail),
            )
            return
    advice = phrase(
        "in its __iter__ yield only every world_size()-th sample: itertools.islice(samples, {part}{tail}",
        part=part,
        tail=tail,
    )
    draft.left("NPU353", unit, call, message, advice)


def global_batch(call: ast.Call, unit: Unit, draft: Draft, keep: bool, data_parallel: bool = False) -> None:
    given = _argument(call, 1, "batch_size")
    size = unit.source.code(given) if given is not None else "the loader's batch size"
    if keep:
        message = phrase("{size} is the total batch of all cards: each takes {size} divided by their number", size=size)
        advice = "the learning rate is unchanged"
    else:
        message = phrase("{size} is the batch per card: N cards process {size} × N samples per step", size=size)
        advice = (
            "a learning rate tuned for one card no longer fits: multiply it by N (SGD, with a warm-up) or by the "
            "square root of N (Adam), see --scale-lr; or keep the batch with --global-batch keep"
        )
        if data_parallel:
            message += phrase("; under DataParallel it was the total batch of all cards")
            advice = "to keep DataParallel's batch: --global-batch keep"
    draft.left("NPU360", unit, call, message, advice, Severity.INFO)


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if place < len(call.args) and not any(isinstance(item, ast.Starred) for item in call.args[: place + 1]):
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _explicit_sampler(
    call: ast.Call, dataset: ast.expr | None, program: Program, unit: Unit, draft: Draft, keep: bool
) -> tuple[list[Edit], str] | None:
    """The edits that give a plain loader a sampler of its own; None where its arguments are not all written there."""
    if unit.qualname(call.func).rpartition(".")[2] != "DataLoader" or len(call.args) > 3:
        return None
    if any(isinstance(item, ast.Starred) for item in call.args) or any(one.arg is None for one in call.keywords):
        return None
    names = {keyword.arg: keyword for keyword in call.keywords}
    if dataset is None or not _is_plain(dataset) or names.keys() & {"sampler", "batch_sampler"}:
        return None
    size = _argument(call, 1, "batch_size")
    if (size is None and keep) or (isinstance(size, ast.Constant) and size.value is None):
        return None
    shuffle, drop = _argument(call, 2, "shuffle"), _argument(call, 8, "drop_last")
    if not all(one is None or _is_plain(one) for one in (shuffle, drop)):
        return None
    code, editor = unit.source.code, draft.editor(unit)
    said = code(shuffle) if shuffle is not None else "False"
    text = f"sampler=npu_distributed.sampler({code(dataset)}, shuffle={said}"
    text += phrase(", drop_last={drop})", drop=code(drop)) if drop is not None else ")"
    if "shuffle" in names:
        edits = [editor.replace(names["shuffle"], text)]
    elif shuffle is not None:
        if len(call.args) != 3:
            return None
        edits = [editor.replace(shuffle, text)]
    else:
        try:
            edits = [editor.argument(call, text)]
        except Unprovable:
            return None
    if keep and size is not None:
        # Before the new argument, which begins where the size may end.
        edits = [*editor.around(size, "npu_distributed.per_card("), *edits]
    return edits, f"shuffle={said}" + (
        phrase(", drop_last={drop}", drop=code(drop)) if drop is not None else ""
    ) + " as before"


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression can be written down twice: names, attributes, constants."""
    allowed = (ast.Name, ast.Attribute, ast.Constant, ast.Load, ast.UnaryOp, ast.Not, ast.Subscript, ast.Compare)
    return all(isinstance(item, (*allowed, ast.cmpop)) for item in ast.walk(node))


# --- the epoch ------------------------------------------------------------------------------------------------------


def set_epoch_of(one: Pass, program: Program, loops: Loops, draft: Draft) -> None:
    """Set the epoch of the loaders that a loop goes through."""
    for data in (one.data, *one.others):
        assert data is not None
        try:
            _set_epoch(data, one, program, loops, draft)
        except Unprovable as problem:
            advice = phrase(
                "{message}; call npu_distributed.set_epoch(loader, epoch) before each epoch", message=problem.message
            )
            draft.left("NPU354", one.unit, one.node, "the loader's epoch is not set", advice)


def _set_epoch(data: Data, one: Pass, program: Program, loops: Loops, draft: Draft) -> None:
    unit, editor = one.unit, draft.editor(one.unit)
    code = data.unit.source.code(data.node)
    message = phrase(
        "the samples{value} come in a different order in each epoch", value=f" of {code}" if data in one.others else ""
    )
    around = _epoch_loop(one, loops)
    text = f"npu_distributed.set_epoch({code})"
    if one.iterator is not None:
        draft.done("NPU354", unit, one.iterator, message, [editor.directly_before(one.iterator, text)])
        return
    if around is None:
        return
    epochs, where = around
    loader = _name_there(data, epochs, where, program, loops)
    number = _number(epochs)
    if loader is not None and number is not None:
        text = f"npu_distributed.set_epoch({loader}, {number})"
        edit = draft.editor(where).first_in(epochs.body, text)
        draft.done("NPU354", where, epochs, f"{message} ({number})", [edit])
        return
    if not _is_plain(data.node):
        raise Unprovable(data.node, "assign the loader to a name before the loop")
    if data.unit is not unit or unit.function_around(data.node) is not one.frame:
        raise Unprovable(data.node, "the loop goes through it in another function")
    draft.done("NPU354", unit, one.node, message, [editor.directly_before(one.node, text)])


def _epoch_loop(one: Pass, loops: Loops) -> tuple[Loop, Unit] | None:
    """The loop that goes over the data again and again: the nearest around the loop over the batches."""
    return next(iter(loops.loops_around(one.node, one.unit)), None)


def _number(loop: Loop) -> str | None:
    """The variable that counts the turns of a loop."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    called = loop.iter.func
    word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    target = loop.target
    if word == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id
    if word == "tqdm" and not (loop.iter.args and _is_range(loop.iter.args[0])):
        return None
    return target.id if word in _COUNTING and isinstance(target, ast.Name) else None


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _name_there(start: Data, epochs: Loop, where: Unit, program: Program, loops: Loops) -> str | None:
    """How the loader of a pass is called in the function of the loop over the epochs."""
    data: ast.expr | None = start.node
    unit, use = start.unit, cast("ast.AST", start.node)
    rest = ""
    for _ in range(6):
        if data is None:
            return None
        if unit is where and unit.function_around(use) is where.function_around(epochs):
            known = _is_plain(data) and _bound_outside(data, epochs, where)
            return unit.source.code(data) + rest if known else None
        root = data
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        found = unit.source.scope_of(root).lookup(root.id)
        if found is None:
            return None
        owner = found[0].node
        if owner is unit.source.tree and unit is where:
            # A global: the same name, unless the function of the epochs has its own of that name.
            seen = where.source.scope_of(epochs).lookup(root.id)
            outside = seen is not None and seen[0].node is owner and _bound_outside(data, epochs, where)
            return unit.source.code(data) + rest if outside else None
        calls = program.callers(owner)
        if len(calls) != 1 or not isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        call, caller = calls[0]
        bound = isinstance(unit.source.parent(owner), ast.ClassDef)
        given: ast.expr | None
        if bound and isinstance(call.func, ast.Attribute) and owner.args.args and owner.args.args[0].arg == root.id:
            given = call.func.value
        else:
            found_there = argument_for(root.id, owner, call.args, call.keywords, int(bound))
            given = found_there if isinstance(found_there, ast.expr) else None
        rest = unit.source.code(data)[len(root.id) :] + rest
        data, unit, use = given, caller, call
    return None


def _bound_outside(data: ast.expr, epochs: Loop, where: Unit) -> bool:
    """Whether the names of an expression are not bound in the loop itself, where its first line comes too early."""
    names = {item.id for item in ast.walk(data) if isinstance(item, ast.Name)}
    for node in ast.walk(epochs):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
            return False
    return True
