"""What one process does for all: saving, writing, making folders, downloading, progress bars."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable
from npuify.distribute.reading.loops import inside
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.distribute.edits import Draft, Editor
    from npuify.distribute.reading.program import Program, Unit

_WRITERS = frozenset(
    "torch.save numpy.save numpy.savez numpy.savez_compressed numpy.savetxt torchvision.utils.save_image json.dump "
    "pickle.dump yaml.dump yaml.safe_dump torch.onnx.export matplotlib.pyplot.savefig matplotlib.pyplot.imsave "
    "cv2.imwrite imageio.imwrite shutil.copy shutil.copyfile shutil.copy2 shutil.move shutil.rmtree shutil.copytree "
    "os.remove os.unlink os.rename os.replace os.rmdir scipy.io.savemat joblib.dump safetensors.torch.save_file "
    "torch.jit.save soundfile.write matplotlib.pyplot.show torchvision.io.write_png torchvision.io.write_jpeg".split()
)
_WRITING = frozenset("savefig to_csv to_json to_excel to_pickle write_text write_bytes save_pretrained imsave".split())
_MODES = ("w", "a", "x", "+")
_IS_MAIN = "if npu_distributed.is_main():"


def only_once(
    program: Program, draft: Draft, *, unless: Callable[[ast.AST, Unit], bool] | None = None, waits: bool = True
) -> None:
    """Let rank 0 alone do what must be done once.

    Args:
        unless: names code that is left as it is.
        waits: processes may wait for each other; else downloads are left alone.
    """
    if waits:
        _downloading_functions(program, draft)
    for unit in program.units:
        for node in unit.nodes:
            if isinstance(node, ast.With) and not (unless is not None and unless(node, unit)):
                _opened_by_with(node, unit, program, draft)
        for node in unit.nodes:
            if isinstance(node, ast.Call) and not (unless is not None and unless(node, unit)):
                try:
                    _once(node, unit, program, draft, waits=waits)
                except Unprovable as problem:
                    message = phrase("{func} is run by every process", func=unit.source.code(node.func))
                    draft.left(
                        "NPU356",
                        unit,
                        node,
                        message,
                        phrase("run it under {IS_MAIN} ({message})", IS_MAIN=_IS_MAIN, message=problem.message),
                    )


def _once(node: ast.Call, unit: Unit, program: Program, draft: Draft, *, waits: bool) -> None:
    editor, name = draft.editor(unit), unit.qualname(node.func)
    attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    last = name.rpartition(".")[2]
    if name in _WRITERS or (attribute in _WRITING and not program.callees(node, unit)):
        _whole_model(node, name, unit, program, draft)
        _guard(node, unit, program, draft)
    elif last == "SummaryWriter" or name in ("tensorboardX.SummaryWriter",):
        message = "only rank 0 writes for TensorBoard"
        tail = " if npu_distributed.is_main() else npu_distributed.Silent())"
        draft.done("NPU356", unit, node, message, editor.around(node, "(", tail))
    elif name == "wandb.init" and not any(keyword.arg in ("mode", None) for keyword in node.keywords):
        text = 'mode=None if npu_distributed.is_main() else "disabled"'
        draft.done("NPU356", unit, node, "only rank 0 reports to W&B", [editor.argument(node, text)])
    elif name.partition(".")[0] == "tqdm" and last in ("tqdm", "trange"):
        if not any(keyword.arg in ("disable", None) for keyword in node.keywords):
            text = "disable=not npu_distributed.is_main()"
            draft.done("NPU356", unit, node, "only rank 0 shows a progress bar", [editor.argument(node, text)])
    elif name in ("os.makedirs", "os.mkdir") or (attribute == "mkdir" and name != "os.mkdir" and not name):
        _folder(node, name, unit, draft)
    elif name in ("open", "io.open", "builtins.open") or (isinstance(node.func, ast.Name) and node.func.id == "open"):
        _opened(node, unit, draft)
    elif name in ("logging.FileHandler", "logging.handlers.RotatingFileHandler") and node.args:
        message = "only rank 0 writes the log file"
        draft.done("NPU356", unit, node, message, editor.around(node.args[0], "npu_distributed.only_main("))
    elif waits and _downloads(node, name) and not program.callees(node, unit):
        _first_alone(node, unit, draft)


_FETCHING = (
    "urllib.request.urlopen",
    "urllib.request.urlretrieve",
    "requests.get",
    "urllib.urlopen",
    "urllib2.urlopen",
)


def _downloading_functions(program: Program, draft: Draft) -> None:
    """A function that fetches files by itself is called by one process first; inside it nothing is edited."""
    for unit in program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Call) or not unit.qualname(node.func).endswith(_FETCHING):
                continue
            function = unit.function_around(node)
            if isinstance(function, ast.Module) or unit.class_around(function) is not None:
                continue
            calls = program.callers(function)
            if calls:
                draft.editor(unit).guarded += [item for item in ast.walk(function) if isinstance(item, ast.stmt)]
            for call, where in calls:
                _first_alone(call, where, draft)


def _whole_model(node: ast.Call, name: str, unit: Unit, program: Program, draft: Draft) -> None:
    """A model that is saved or exported whole goes without its wrapper."""
    if name in ("torch.save", "torch.onnx.export") and node.args:
        first = node.args[0]
        if isinstance(first, (ast.Name, ast.Attribute)) and program.models(first, unit):
            edits = draft.editor(unit).around(first, "npu_distributed.unwrap(")
            draft.done("NPU367", unit, first, "the model itself is saved, not its wrapper", edits)


def _guard(node: ast.Call, unit: Unit, program: Program, draft: Draft) -> None:
    statement = unit.statement(node)
    editor = draft.editor(unit)
    if any(inside(statement, one) for one in editor.guarded):
        return
    holder = unit.class_around(node)
    if holder is not None and program.kind_of_class(holder, unit) in (Kind.DATASET, Kind.ITERABLE_DATASET):
        raise Unprovable(
            node, "a data set writes it; the others must wait until it exists: npu_distributed.main_first()"
        )
    if not isinstance(statement, ast.Expr) or statement.value is not node:
        raise Unprovable(node, "its value is used")
    if any(inside(one, statement) for one in draft.together) or _needs_all(statement, unit, program, draft):
        raise Unprovable(node, "compute its input beforehand, in all processes, into a variable")
    draft.done("NPU356", unit, node, "only rank 0 writes it", editor.under(statement, statement, _IS_MAIN))
    editor.guarded.append(statement)


def _needs_all(statement: ast.stmt, unit: Unit, program: Program, draft: Draft) -> bool:
    """Whether a statement runs a model, or functions that all processes have to come by: never on rank 0 alone."""
    reached = program.reached((statement, unit))
    if not draft.meeting.isdisjoint(reached):
        return True
    for region, where in ((statement, unit), *reached.items()):
        for node in ast.walk(region):
            if not isinstance(node, ast.Call):
                continue
            if program.models(node.func, where):
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("eval", "train"):
                if program.models(node.func.value, where):
                    return True
    return False


def _is_written(node: ast.Call) -> bool:
    """Whether a call of ``open`` opens a file to write."""
    mode = node.args[1] if len(node.args) > 1 else next((one.value for one in node.keywords if one.arg == "mode"), None)
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and any(one in mode.value for one in _MODES)


def _opened_by_with(node: ast.With, unit: Unit, program: Program, draft: Draft) -> None:
    """``with open(…, "w")`` whose block does nothing but write is done by rank 0 alone."""
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    opens = [one for one in calls if getattr(one.func, "id", "") == "open" and _is_written(one)]
    editor = draft.editor(unit)
    if len(opens) != len(node.items) or not all(isinstance(item, ast.Expr) for item in node.body):
        return
    if any(inside(node, one) for one in editor.guarded):
        return
    if any(inside(one, node) for one in draft.together) or _needs_all(node, unit, program, draft):
        # All processes come by here, and all but rank 0 write into nothing: see _opened.
        editor.guarded += node.body
        return
    try:
        draft.done("NPU356", unit, node, "only rank 0 writes it", editor.under(node, node, _IS_MAIN))
        editor.guarded.append(node)
    except Unprovable:
        return


def _opened(node: ast.Call, unit: Unit, draft: Draft) -> None:
    editor: Editor = draft.editor(unit)
    if not node.args or not _is_written(node) or any(inside(node, one) for one in editor.guarded):
        return
    edits = editor.around(node.args[0], "npu_distributed.only_main(")
    draft.done("NPU356", unit, node, "only rank 0 writes this file", edits)


def _folder(node: ast.Call, name: str, unit: Unit, draft: Draft) -> None:
    """Making a folder does not fail where another process was faster."""
    if any(inside(node, one) for one in draft.editor(unit).guarded):
        return
    if any(keyword.arg in ("exist_ok", None) for keyword in node.keywords) or any(
        isinstance(item, ast.Starred) for item in node.args
    ):
        return
    if any(isinstance(up, ast.Try) for up in unit.ancestors(node)):
        return
    if (name == "os.makedirs" and len(node.args) > 2) or (name != "os.makedirs" and len(node.args) > 1):
        return
    editor = draft.editor(unit)
    edits = [editor.argument(node, "exist_ok=True")]
    if name == "os.mkdir":
        edits.append(editor.replace(node.func, "os.makedirs"))
    draft.done("NPU356", unit, node, "another process may have just created the folder", edits)


def _downloads(node: ast.Call, name: str) -> bool:
    for keyword in node.keywords:
        if keyword.arg == "download":
            return not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
    if name in ("urllib.request.urlretrieve", "torch.hub.download_url_to_file", "gdown.download", "wget.download"):
        return True
    if name in ("torch.hub.load", "datasets.load_dataset", "huggingface_hub.snapshot_download"):
        return True
    if name.startswith("transformers.") and name.endswith(".from_pretrained"):
        return True
    if name.startswith("torchvision.models."):
        weights = next((one.value for one in node.keywords if one.arg in ("weights", "pretrained")), None)
        return weights is not None and not (isinstance(weights, ast.Constant) and not weights.value)
    return False


def _first_alone(node: ast.Call, unit: Unit, draft: Draft) -> None:
    statement, editor = unit.statement(node), draft.editor(unit)
    if any(inside(statement, one) for one in editor.guarded):
        return
    message = "one process per machine downloads, the others wait for it"
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.AnnAssign, ast.Return)):
        text = "run the download under `with npu_distributed.main_first():`"
        draft.left("NPU357", unit, node, "every process downloads", text)
        return
    try:
        edits = editor.under(statement, statement, "with npu_distributed.main_first():")
        draft.done("NPU357", unit, node, message, edits)
        editor.guarded.append(statement)
    except Unprovable as problem:
        text = phrase(
            "run the download under `with npu_distributed.main_first():` ({message})", message=problem.message
        )
        draft.left("NPU357", unit, node, "every process downloads", text)


def load_to_own_card(program: Program, draft: Draft) -> None:
    """Checkpoints are loaded to the process's own device, and after rank 0 has written them."""
    saved = {
        text
        for unit in program.units
        for node in unit.nodes
        if isinstance(node, ast.Call) and unit.qualname(node.func) == "torch.save" and len(node.args) > 1
        for text in _paths(node.args[1], unit)
    }
    for unit in program.units:
        editor = draft.editor(unit)
        for node in unit.nodes:
            if not isinstance(node, ast.Call) or unit.qualname(node.func) != "torch.load" or not node.args:
                continue
            placed = any(keyword.arg in ("map_location", None) for keyword in node.keywords) or len(node.args) > 1
            own = bool(saved & set(_paths(node.args[0], unit)))
            if not placed and (own or _is_checkpoint(node, unit, program, 2)):
                text = "map_location=npu_distributed.device()"
                message = "without map_location, a checkpoint is loaded to the card that saved it"
                try:
                    draft.done("NPU365", unit, node, message, [editor.argument(node, text)])
                except Unprovable as problem:
                    draft.left("NPU365", unit, node, message, problem.message)
            if own:
                statement = unit.statement(node)
                around = next((up for up in unit.ancestors(node) if isinstance(up, ast.With)), statement)
                if around is not statement and not _opens(around, unit):
                    around = statement
                try:
                    edit = editor.directly_before(around, "npu_distributed.barrier()")
                    draft.done("NPU365", unit, node, "the file is read after rank 0 has written it", [edit])
                except Unprovable as problem:
                    draft.left("NPU365", unit, node, "rank 0 may still be writing the file", problem.message)


def _is_checkpoint(node: ast.Call, unit: Unit, program: Program, hops: int) -> bool:
    """Whether what is loaded is a model or its state; what is data stays on the CPU, as it was saved."""
    if any(_takes_state(up) for up in unit.ancestors(node) if isinstance(up, ast.Call)):
        return True
    statement, frame = unit.statement(node), unit.function_around(node)
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if program.models(target, unit):
                return True
            names = {item.id for item in ast.walk(target) if isinstance(item, ast.Name)}
            for item in ast.walk(frame):
                if isinstance(item, ast.Call) and _takes_state(item) and _mentions(item.args, names):
                    return True
                if isinstance(item, ast.Return) and item.value is not None and _mentions([item.value], names):
                    if hops and _checkpoint_of_callers(frame, program, hops):
                        return True
    return isinstance(statement, ast.Return) and hops > 0 and _checkpoint_of_callers(frame, program, hops)


def _checkpoint_of_callers(frame: ast.AST, program: Program, hops: int) -> bool:
    return any(_is_checkpoint(call, where, program, hops - 1) for call, where in program.callers(frame))


def _takes_state(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("load_state_dict", "set_state_dict")


def _mentions(nodes: Iterable[ast.AST], names: set[str]) -> bool:
    return any(isinstance(item, ast.Name) and item.id in names for node in nodes for item in ast.walk(node))


def _opens(node: ast.stmt, unit: Unit) -> bool:
    return isinstance(node, ast.With) and any("open(" in unit.source.code(item.context_expr) for item in node.items)


def _paths(node: ast.expr, unit: Unit) -> list[str]:
    """The text of the path that a file is saved to or loaded from, through ``with open(path) as f``."""
    found = [unit.source.code(node)]
    for up in unit.ancestors(node):
        for item in up.items if isinstance(up, ast.With) else ():
            names = isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == found[0]
            if names and isinstance(item.context_expr, ast.Call) and item.context_expr.args:
                return [unit.source.code(item.context_expr.args[0])]
    return found
