"""Environment variables that Python code sets or reads."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.engine import Reach
from npuify.language import phrase, semicolons
from npuify.model import Safety, Severity
from npuify.rules.common.mixed import hides_cards_from_others
from npuify.rules.environment.nvidia_smi import runs_in_shell
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.knowledge.schema import EnvironmentFact
    from npuify.knowledge.settings.variables import Translation
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ENVIRON_METHODS = ("get", "pop", "setdefault", "setenv", "delenv", "putenv", "getenv", "unsetenv")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{3,}|FLAGS_\w+")
_SET_IN_COMMAND = re.compile(
    r"(?:^|[;&|(]\s*|(?<![\w-])(?:export\s|env\s|-e\s|--env\s|--env=)\s*)(?:[A-Z][A-Z0-9_]*=\S*\s+)*?([A-Z][A-Z0-9_]{3,})="
)
"""Where a command of a shell, or of a container, sets a variable; an argument of a program is none."""
_VALUE_IN_COMMAND = re.compile(r"[\w,.:-]+(?=\s|$)")
_WORDS = (
    *("cuda_", "nccl_", "nvidia_", "cublas_", "cudnn_", "_cuda", "nvte_", "torch_allow_tf32"),
    *(
        "vllm_",
        "jax_platform",
        "xla_flags",
        "xla_python_client",
        "ucx_",
        "flags_selected_gpus",
        "flags_cudnn",
        "flags_conv_workspace",
        "flags_embedding_",
    ),
    *("flags_sync_nccl", "flags_nccl_", "flags_enable_cublas"),
    *("tf_force_gpu", "tf_gpu_", "tf_xla_flags", "tf_enable_auto_mixed", "tf_deterministic_ops"),
)


@rule("NPU701", "cuda-environment-variable", Safety.SAFE, Severity.WARNING, words=_WORDS)
def cuda_environment_variable(node: ast.Constant | ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """Code sets or reads an environment variable that CUDA or NCCL uses and Ascend does not.

    A variable whose values mean the same is renamed. A value that must be translated is translated where it is a
    literal there, with ``--unsafe``; variables without a counterpart are left unchanged, with advice.

    Before::

        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        blocking = os.getenv("CUDA_LAUNCH_BLOCKING", "0")

    After::

        import os
        os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
        blocking = os.getenv("ASCEND_LAUNCH_BLOCKING", "0")
    """
    name = node.arg if isinstance(node, ast.keyword) else node.value
    if not isinstance(name, str):
        return
    from npuify.knowledge.settings.variables import fact_of, stays, translate

    if isinstance(node, ast.Constant) and not _VARIABLE.fullmatch(name):
        yield from _set_in_command(node, name, file)
        return
    fact = fact_of(name, "vLLM" if name == "CUDA_LAUNCH_BLOCKING" and _serves(file) else file.framework)
    if fact is None:
        return
    parent = file.parent(node)
    value, known = _context(node, parent, file)
    if isinstance(parent, ast.Expr):
        return
    by_name = not known and isinstance(parent, (ast.Assign, ast.AnnAssign))
    if by_name and isinstance(node, ast.Constant):
        value, known = _by_another_name(node, file)
    if name.startswith("FLAGS_") and (not known or _is_flag_of_paddle(node, file)):
        return  # what Paddle's set_flags is given, or a name of the program's
    place = _Place(node, name, parent, value, known, by_name)
    report = partial(file.report, node, subject=name, evidence=fact.evidence, source=fact.source)
    if name == "CUDA_VISIBLE_DEVICES" and hides_cards_from_others(file, place.literal):
        yield report(
            "CUDA_VISIBLE_DEVICES hides all cards here, and TensorFlow or JAX is used beside PyTorch; it stays",
            severity=Severity.INFO,
            advice="ASCEND_RT_VISIBLE_DEVICES set so would take the NPU from PyTorch as well",
        )
        return
    done = translate(fact, place.literal)
    if stays(done, name):
        return
    if not done.name:
        yield _without_a_form(place, done, fact, report)
    elif isinstance(parent, (ast.List, ast.Tuple, ast.Set)) and _stands_in(done.name, parent):
        yield report(
            phrase("{name} is {shown} on Ascend, which stands beside it", name=name, shown=done.name),
            severity=Severity.INFO,
        )
    else:
        yield from _renamed(place, done, fact, report, file)


class _Place(NamedTuple):
    """Where a variable is set or read."""

    node: ast.Constant | ast.keyword
    name: str
    parent: ast.AST | None
    value: ast.expr | None
    """What it is given there."""
    known: bool
    """Whether it is surely an environment variable that is meant."""
    by_name: bool
    """Whether its name is only kept there, for places elsewhere."""

    @property
    def literal(self) -> str | None:
        """The text that it is given, where that is written there."""
        value = self.value
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _renamed(
    place: _Place, done: Translation, fact: EnvironmentFact, report: Callable[..., Diagnostic], file: PythonFile
) -> Iterator[Diagnostic]:
    """A variable that has another name or value on Ascend, with the edits that can be written."""
    from npuify.knowledge.settings.variables import ONE_DEVICE

    node, name, value = place.node, place.name, place.value
    start = file.source.start(node)
    if done.name == name:
        edits = []
    elif isinstance(node, ast.keyword):
        edits = [file.edit(start, start + len(name), done.name)]
    elif file.code(node).count(name) == 1:
        edits = [file.edit(start, file.source.end(node), file.code(node).replace(name, done.name))]
    else:
        return
    if done.value is not None and not place.by_name:
        edits += _new_value(value, done.value, file)
    if done.name == ONE_DEVICE and _is_list_somewhere(node, value, file):
        yield report(
            phrase(
                "{name} holds a list in this file, and {name2} takes one number: a process has one NPU",
                name=name,
                name2=done.name,
            ),
            safety=Safety.MANUAL,
            advice=phrase("start one process for each card, with its {name}", name=done.name),
        )
        return
    problem = done.problem if value is not None else ""
    whole = len(edits) == (done.name != name) + (done.value is not None)
    shown = done.name if done.value is None else f"{done.name}={done.value}"
    yield report(
        semicolons(filter(None, (phrase("{name} is {shown} on Ascend", name=name, shown=shown), problem))),
        edits=edits if whole else (),
        safety=Safety.SAFE if place.known and done.safety is Safety.SAFE else Safety.REVIEW,
        advice=fact.message if problem or not place.known else "",
    )


def _without_a_form(
    place: _Place, done: Translation, fact: EnvironmentFact, report: Callable[..., Diagnostic]
) -> Diagnostic:
    """A variable for which nothing can be written there."""
    name, problem = place.name, done.problem if place.value is not None else ""
    if fact.action == "rename":
        return report(
            f"{name}: {problem}"
            if fact.npu == name
            else phrase("{name} is {npu} on Ascend; {problem}", name=name, npu=fact.npu, problem=problem),
            advice=fact.message,
        )
    has_no_effect = fact.action == "drop" or (fact.npu is None and not _must_be_set(place.parent))
    return report(
        phrase("{name} has no effect on Ascend", name=name)
        if fact.action == "drop"
        else phrase("{name}: {value} on Ascend", name=name, value=fact.npu or "no counterpart"),
        severity=Severity.INFO if has_no_effect else None,
        advice=fact.message,
    )


def _is_flag_of_paddle(node: ast.AST, file: PythonFile) -> bool:
    """Whether a name is a key of what ``paddle.set_flags`` is given: that one asks Paddle's flags, no variable."""
    table = file.parent(node)
    call = file.parent(table) if isinstance(table, ast.Dict) and node in table.keys else None
    return isinstance(call, ast.Call) and (file.qualname(call.func) or "").endswith(".set_flags")


def _stands_in(name: str, row: ast.List | ast.Tuple | ast.Set) -> bool:
    return any(isinstance(one, ast.Constant) and one.value == name for one in row.elts)


def _must_be_set(parent: ast.AST | None) -> bool:
    """Whether code fails where the variable is not set; what is only set there, nobody reads on an NPU."""
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)


def _is_list_somewhere(node: ast.Constant | ast.keyword, value: ast.expr | None, file: PythonFile) -> bool:
    """Whether a place of the file has several numbers in a variable: what asks for it elsewhere means the same one."""
    if _is_list(node, value, file):
        return True
    name = node.arg if isinstance(node, ast.keyword) else node.value
    others = (
        one
        for one in file.nodes_on_lines_with(str(name))
        if one is not node and isinstance(one, (ast.Constant, ast.keyword))
    )
    return any(
        _is_list(one, _context(one, file.parent(one), file)[0], file)
        for one in others
        if (one.arg if isinstance(one, ast.keyword) else one.value) == name
    )


def _is_list(node: ast.AST, value: ast.expr | None, file: PythonFile) -> bool:
    """Whether code puts several device numbers into a variable, or takes them from it."""
    if value is not None and "join(" in file.code(value):
        return True
    read = next((one for one in file.ancestors(node) if not isinstance(one, ast.Subscript)), None)
    while isinstance(read, (ast.Call, ast.Subscript, ast.BoolOp)):
        read = file.parent(read)
    return isinstance(read, ast.Attribute) and read.attr == "split"


_IMPORTS_VLLM = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+vllm\b")


def _serves(file: PythonFile) -> bool:
    """Whether the project runs vLLM, which may inherit the variable from a process that another file prepares."""
    if file.framework or "vllm" in file.project.packages:
        return file.framework == "vLLM"
    for other in file.project.files_with(b"vllm"):
        try:
            if _IMPORTS_VLLM.search(file.project.read(other)):
                return True
        except OSError:
            continue
    return False


def _set_in_command(node: ast.Constant, text: str, file: PythonFile) -> Iterator[Diagnostic]:
    """A finding for a variable that a command in a text sets, and the program that it starts reads."""
    from npuify.knowledge.settings.variables import fact_of, translate

    named = [(one, fact_of(one.group(1), file.framework)) for one in _SET_IN_COMMAND.finditer(text)]
    set_there, fact = next(((one, fact) for one, fact in named if fact is not None and fact.npu), (None, None))
    if set_there is None or fact is None:
        return
    if not runs_in_shell(node, file) and not _is_handed_on(node, fact.cuda, file):
        return
    given = _VALUE_IN_COMMAND.match(text, set_there.end())
    done = translate(fact, given[0] if given else None)
    if done.name == fact.cuda:
        return
    parent = file.parent(node)
    whole = parent if isinstance(parent, ast.JoinedStr) else node
    code = file.code(whole)
    edits = []
    if done.name and done.value is None and code.count(f"{fact.cuda}=") == 1:
        start = file.source.start(whole) + len(code[: code.index(f"{fact.cuda}=")].encode())
        edits = [file.edit(start, start + len(fact.cuda), done.name)]
    yield file.report(
        node,
        phrase("the command in this text sets {cuda}; on Ascend it is {npu}", cuda=fact.cuda, npu=fact.npu),
        edits=edits,
        safety=Safety.SAFE if edits and done.safety is Safety.SAFE else Safety.REVIEW,
        subject=fact.cuda,
        evidence=fact.evidence,
        source=fact.source,
        advice="" if edits else phrase("write {npu} in the command", npu=fact.npu),
    )


def _is_handed_on(node: ast.expr, name: str, file: PythonFile) -> bool:
    """Whether a text is put together with what its variable holds here: ``"--env NAME=%s" % os.environ["NAME"]``."""
    whole = node
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt):
            break
        if isinstance(up, ast.expr):
            whole = up
    return any(isinstance(one, ast.Constant) and one.value == name for one in ast.walk(whole))


def _by_another_name(node: ast.Constant, file: PythonFile) -> tuple[ast.expr | None, bool]:
    """The value that a variable is given by a name that stands for it (``os.environ[KEY] = "0"``), and whether the
    environment is surely asked by that name. Where several values are given, or one of another file, it is the first
    that is no plain text, so that nobody takes it for translated.
    """
    known, values = False, list[ast.expr]()
    for here in file.reaching(Reach.PROGRAM).flow(node, file.model).occurrences[1:]:
        parent = here.file.parent(here.node)
        if isinstance(parent, ast.Subscript) and here.node is parent.slice:
            known = known or _names_environment(here.file.code(parent.value))
            statement = here.file.parent(parent)
            if isinstance(statement, ast.Assign) and parent in statement.targets:
                values.append(statement.value)
        elif isinstance(parent, ast.Call) and parent.args and parent.args[0] is here.node:
            word = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
            known = known or (word in _ENVIRON_METHODS and "env" in here.file.code(parent.func))
            if word in ("setdefault", "setenv", "putenv") and len(parent.args) > 1:
                values.append(parent.args[1])
        elif isinstance(parent, ast.Compare):
            known = known or any(_names_environment(here.file.code(side)) for side in parent.comparators)
    plain = [one for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    others = [one for one in values if one not in plain]
    return next(iter([*others, *plain]), None), known


def _names_environment(code: str) -> bool:
    return _ENVIRONMENT.search(code[-40:]) is not None


def _context(
    node: ast.Constant | ast.keyword, parent: ast.AST | None, file: PythonFile
) -> tuple[ast.expr | None, bool]:
    """The value that the variable is given, where it is, and whether this is surely an access to the environment."""
    if isinstance(node, ast.keyword):
        call = parent if isinstance(parent, ast.Call) else None
        function = call.func if call is not None else None
        updated = isinstance(function, ast.Attribute) and function.attr == "update" and _is_environment(function, file)
        copied = call is not None and bool(call.args) and _is_environment(call.args[0], file)
        return node.value, updated or copied
    if isinstance(parent, ast.Subscript):
        base = file.qualname(parent.value) or ""
        known = base == "os.environ" or _is_environment(parent.value, file)
        statement = file.parent(parent)
        value = statement.value if isinstance(statement, ast.Assign) and parent in statement.targets else None
        return value, known
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
        word = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        name = file.qualname(parent.func) or ""
        known = name.startswith(("os.environ", "os.getenv", "os.putenv", "os.unsetenv")) or (
            word in _ENVIRON_METHODS and "env" in file.code(parent.func)
        )
        sets = word in ("setdefault", "setenv", "putenv")
        return (parent.args[1] if sets and len(parent.args) > 1 else None), known
    if isinstance(parent, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in parent.ops):
        return None, any("environ" in file.code(side) for side in parent.comparators)
    if isinstance(parent, ast.Dict) and node in parent.keys:
        value = parent.values[parent.keys.index(node)]
        return value, "env" in file.code(file.parent(parent) or parent)[:200].lower()
    return None, False


_ENVIRONMENT = re.compile(r"(?:environ(?:ment)?|env|ENV)(?:_?vars?|_?\d+|_?copy)?$")


def _is_environment(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is the environment, or a copy of it for another process."""
    if isinstance(node, ast.Attribute) and node.attr in ("update", "copy"):
        node = node.value
    if _ENVIRONMENT.search(file.code(node)[-40:]):
        return True
    given = file.assigned(node) if isinstance(node, ast.Name) else []
    return any(value is not None and "environ" in file.code(value)[:80] for value in given)


def _new_value(value: ast.expr | None, text: str, file: PythonFile) -> list[Edit]:
    """The edit that writes another text into a plain string; none where the string is not plain."""
    if not isinstance(value, ast.Constant):
        return []
    code = file.code(value)
    if len(code) < 2 or code[0] not in "\"'" or code[1:-1] != value.value:
        return []
    return [file.replace(value, f"{code[0]}{text}{code[0]}")]
