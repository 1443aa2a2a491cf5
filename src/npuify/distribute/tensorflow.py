"""From one card to many for TensorFlow programs: the optimizer averages, variables are sent, data is shared out.

Names and what they need: hicann/tensorflow@82957b9:docs/en/tfadapter_1 and tfadapter_2, distributed training.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.distribute.reading.tensorflow import (
    calls,
    imported,
    is_built,
    is_read_otherwise,
    trains,
    values,
)
from npuify.distribute.tensorflow_line import Line
from npuify.distribute.tensorflow_loops import make_graph, send_in_loops
from npuify.distribute.tensorflow_names import import_lines, known, last_import
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Program, Unit

_OPTIMIZER_1: Final = re.compile(
    r"tensorflow\.(?:compat\.v1\.)?(?:(?:train|contrib\.\w+)\.(?!SyncReplicas|MovingAverage|LossScale)\w*Optimizer"
    r"|keras\.optimizers\.[A-Z]\w*)"
)
_OPTIMIZER_2: Final = re.compile(
    r"(?:tensorflow\.)?keras\.optimizers\.(?:legacy\.)?(?!Optimizer$|LossScale)[A-Z]\w*"
    r"|tensorflow_addons\.optimizers\.(?!Lookahead|MovingAverage|SWA|Averaged|Multi)[A-Z]\w*"
)
"""Those of tensorflow_addons too, but for what is made around another optimizer."""
_BY_NAME: Final = frozenset("adadelta adagrad adam adamax ftrl nadam rmsprop sgd".split())
_INITIALISER: Final = re.compile(
    r"tensorflow\.(?:compat\.v1\.)?(?:global_variables_initializer|initialize_all_variables)"
)
_MONITORED: Final = re.compile(r"tensorflow\.(?:compat\.v1\.)?train\.(?:MonitoredTraining|SingularMonitored)Session")
_ESTIMATOR: Final = re.compile(
    r"tensorflow\.(?:compat\.v1\.)?estimator\.(?!TPU|NPU)\w*(?:Estimator|Classifier|Regressor)"
)
_AVERAGES: Final = re.compile(r"npu_\w*optimizer_wrapper|NPUDistributedOptimizer|npu_allreduce|all_?reduce")
_STRATEGY: Final = re.compile(
    r"tensorflow\.(?:contrib\.)?distribute\.(?:experimental\.)?(?!OneDevice)\w*(?:Strategy|Server)"
)
_SEND: Final = "npu_device.distribute.broadcast({}.trainable_variables, root_rank=0)"


def is_tensorflow(program: Program) -> bool:
    """Whether the program's files import TensorFlow, and not PyTorch."""
    tops = {name.partition(".")[0] for unit in program.units for name in imported(unit)}
    return "tensorflow" in tops and "torch" not in tops


def convert_tensorflow(program: Program, draft: Draft) -> None:
    """Make the edits that are sure; say what is left. Nothing is edited where the migration left the NPU unopened."""
    if _refused(program, draft):
        return
    second = [unit for unit in program.units if "npu_device" in imported(unit)]
    first = [unit for unit in program.units if any(name.startswith("npu_bridge") for name in imported(unit))]
    if bool(second) == bool(first):
        draft.left(
            "NPU398",
            program.entry,
            program.entry.source.tree,
            "after the migration the program imports neither npu_bridge nor npu_device, or both",
            phrase(
                "migrate it first, with --unsafe for edits to review, or name the line with tf-adapter in [tool.npuify]"
            ),
        )
        return
    if not any(trains(unit) for unit in program.units):
        draft.left(
            "NPU395",
            program.entry,
            program.entry.source.tree,
            "nothing in the files of the program trains a model, and each card would compute the same",
            phrase("start it on one card, or name the program that trains with --entry"),
        )
        return
    made = _Second(program, draft) if second else _First(program, draft)
    for unit in program.units:
        made.convert(unit)
    made.end()


def _refused(program: Program, draft: Draft) -> bool:
    """Say so where the program runs on several cards already."""
    for unit in program.units:
        for node in unit.nodes:
            name = unit.qualname(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
            last = name.rpartition(".")[2]
            own = name.startswith(("npu_bridge.", "npu_device.")) and _AVERAGES.fullmatch(last)
            if own or name.startswith("horovod.") or _STRATEGY.match(name):
                draft.left(
                    "NPU392",
                    unit,
                    node,
                    phrase("{name} is for several cards already", name=name),
                    "start it with npuify launch, which says what it lacks; take strategies of TensorFlow out",
                )
                return True
    return False


class _Second(Line):
    optimizers = _OPTIMIZER_2
    wrapper = "npu_device.distribute.npu_distributed_keras_optimizer_wrapper"
    rank = "npu_device.open().workers_num, npu_device.open().worker_id"
    own_number = "npu_device.open().worker_id"

    def __init__(self, program: Program, draft: Draft) -> None:
        super().__init__(program, draft)
        self._without_import: dict[Unit, None] = {}

    def convert(self, unit: Unit) -> None:
        for call in calls(unit):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
                for node in (*call.args[:1], *(one.value for one in call.keywords if one.arg == "optimizer")):
                    if isinstance(node, ast.Constant) and str(node.value).lower() in _BY_NAME:
                        self.wrap(unit, node)
        super().convert(unit)
        make_graph(unit, self.draft)

    def name(self, unit: Unit, wanted: str) -> str:
        if not self._imports(unit):
            self._without_import[unit] = None
        return self.spelled(unit, wanted)

    def spelled(self, unit: Unit, wanted: str) -> str:
        return next((wanted.replace("npu_device", one, 1) for one in self._imports(unit)), wanted)

    def _imports(self, unit: Unit) -> list[str]:
        """The names by which a file has imported npu_device."""
        aliases = (alias for node in unit.nodes if isinstance(node, ast.Import) for alias in node.names)
        return [alias.asname or alias.name for alias in aliases if alias.name == "npu_device"]

    def needs_rank(self, unit: Unit) -> str:
        return ", ".join(self.name(unit, one) for one in self.rank.split(", "))

    def send(self, unit: Unit) -> None:
        self.sends += send_in_loops(unit, self.draft, lambda model: self.name(unit, _SEND.format(model)))
        done: set[tuple[ast.AST, str]] = set()
        for call, model in self.fits(unit):
            if not isinstance(model, ast.Name) or (unit.function_around(call), model.id) in done:
                continue
            done.add((unit.function_around(call), model.id))
            if not any(is_built(unit, value) for value in values(unit, model, call)):
                self.draft.left(
                    "NPU386",
                    unit,
                    call,
                    phrase("whether {id} has its variables before fit() is not known", id=model.id),
                    self._where_to_send(unit, model, call),
                )
                self.sends += 1
                continue
            self.sends += 1
            line = self.name(unit, _SEND.format(model.id))
            edits = [self.draft.editor(unit).before(unit.statement(call), line)]
            self.draft.done("NPU386", unit, call, "all cards begin with the same variables", edits, helper=False)

    def _where_to_send(self, unit: Unit, model: ast.Name, call: ast.Call) -> str:
        """Where the broadcast belongs: a model that is made under a strategy gets its variables there as well."""
        line = self.spelled(unit, _SEND.format(model.id))
        made = (value for value in values(unit, model, call) if isinstance(value, ast.Call))
        scopes = (
            unit.source.code(item.context_expr)
            for value in made
            for around in unit.source.ancestors(value)
            if isinstance(around, ast.With)
            for item in around.items
            if isinstance(item.context_expr, ast.Call)
            and isinstance(item.context_expr.func, ast.Attribute)
            and item.context_expr.func.attr == "scope"
        )
        scope = next(scopes, "")
        if scope:
            return phrase("build it under with {scope}: as it is made there, then {line}", scope=scope, line=line)
        return phrase("build it, then {format}", format=line)

    def end(self) -> None:
        super().end()
        for unit in self._without_import:
            # The program opens the NPU where it starts; the names are used in a module of its own.
            last = last_import(unit)
            if last is not None:
                edits = [self.draft.editor(unit).after(last, "import npu_device")]
                self.draft.done("NPU385", unit, last, "the adapter's names are imported", edits, helper=False)


class _First(Line):
    optimizers = _OPTIMIZER_1
    wrapper = "npu_distributed_optimizer_wrapper"
    rank = "get_rank_size(), get_rank_id()"

    def __init__(self, program: Program, draft: Draft) -> None:
        super().__init__(program, draft)
        self._names: dict[Unit, set[str]] = {}
        self._ranks = False

    def name(self, unit: Unit, wanted: str) -> str:
        self._names.setdefault(unit, set()).add(wanted)
        return wanted

    def needs_rank(self, unit: Unit) -> str:
        self._ranks = True
        self._names.setdefault(unit, set()).update(("get_rank_id", "get_rank_size"))
        return self.rank

    def send(self, unit: Unit) -> None:
        for call in calls(unit):
            if self._takes_hooks(unit, call):
                self._hook(unit, call)
            if not (isinstance(call.func, ast.Attribute) and call.func.attr == "run" and call.args):
                continue
            statement = unit.statement(call)
            if not (isinstance(statement, ast.Expr) and statement.value is call):
                continue
            fetched = call.args[0]
            parts = fetched.elts if isinstance(fetched, (ast.List, ast.Tuple)) else [fetched]
            given = [value for part in parts for value in values(unit, part, call)]
            inner = [one for value in given for one in ast.walk(value) if isinstance(one, ast.Call)]
            if not any(_INITIALISER.fullmatch(unit.qualname(one.func)) for one in inner):
                continue
            session = unit.source.code(call.func.value)
            self._names.setdefault(unit, set()).update(("util", "npu_hook"))
            lines = ["if int(util.get_ranksize()) > 1:", f"    {session}.run(npu_hook.broadcast_global_variables(0))"]
            edits = [self.draft.editor(unit).after(statement, *lines)]
            self.sends += 1
            self.draft.done("NPU386", unit, call, "all cards begin with the same variables", edits, helper=False)

    def _hook(self, unit: Unit, call: ast.Call) -> None:
        """Have a monitored session, or an estimator's training, send the variables as it begins."""
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "hooks"), None)
        editor = self.draft.editor(unit)
        name = self.name(unit, "npu_hooks_append")
        if given is None:
            edits = [editor.argument(call, f"hooks={name}()")]
        else:
            # The function keeps lists only, and throws away what is something else.
            edits = editor.around(given, f"{name}(list(", " or []))")
        self.sends += 1
        self.draft.done("NPU386", unit, call, "all cards begin with the same variables", edits, helper=False)

    def _takes_hooks(self, unit: Unit, call: ast.Call) -> bool:
        if any(keyword.arg is None for keyword in call.keywords):
            return False
        if _MONITORED.fullmatch(unit.qualname(call.func)):
            return not call.args
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "train" and len(call.args) < 2):
            return False
        made = [one for one in values(unit, call.func.value, call) if isinstance(one, ast.Call)]
        return any(_ESTIMATOR.fullmatch(unit.qualname(one.func)) for one in made)

    def share(self, unit: Unit) -> None:
        super().share(unit)
        for call in calls(unit):
            if re.fullmatch(r"tensorflow\.(?:compat\.v1\.)?gradients", unit.qualname(call.func)):
                self.draft.left(
                    "NPU385",
                    unit,
                    call,
                    "the wrapper averages what compute_gradients() and minimize() give, not these gradients",
                    "average them, each once: npu_allreduce(gradients) before they are clipped or applied",
                )
        for call in calls(unit):
            if is_read_otherwise(unit, call):
                self.draft.left(
                    "NPU387",
                    unit,
                    call,
                    phrase("what {name}() gives is the same on every card", name=unit.source.code(call.func)),
                    phrase("train on a tf.data.Dataset, with .shard({rank}) behind its source", rank=self.rank),
                )
                break
        if self.datasets:
            return
        for call in calls(unit):
            fed = any(keyword.arg == "feed_dict" for keyword in call.keywords)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "run" and fed:
                self.draft.left(
                    "NPU387",
                    unit,
                    call,
                    "what is fed is the same on every card, as far as this shows",
                    "feed each rank its own part: get_rank_id() of get_rank_size(), after init_resource()",
                )
                return

    def end(self) -> None:
        super().end()
        entry = self.program.entry
        if self._ranks:
            self._names.setdefault(entry, set()).update(("close_session", "init_resource", "shutdown_resource"))
        for unit, names in self._names.items():
            lines = list(import_lines(names - known(unit)))
            if self._ranks and unit is entry:
                lines += [
                    "npu_session, npu_shutdown = init_resource()",
                    "atexit.register(close_session, npu_session)",
                    "atexit.register(shutdown_resource, npu_session, npu_shutdown)  # runs first",
                ]
                lines.insert(0, "import atexit")
            last = last_import(unit)
            if lines and last is not None:
                edits = [self.draft.editor(unit).after(last, *lines)]
                self.draft.done("NPU385", unit, last, "the adapter's names are imported", edits, helper=False)
