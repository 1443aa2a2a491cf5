"""Runs one program, statement by statement, and says of each statement of interest what became of it."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import inspect
import os
import re
import signal
import sys
import types
from pathlib import Path
from typing import Any

import torch

from npuify.selftest.inside.forms import libraries, samples
from npuify.selftest.inside.forms.branches import forced

DONE, STAND_IN, NOT_REACHED = "done", "stand-in", "not reached"
_ATTEMPT_SECONDS = 40
_ENVIRONMENT = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
_UNSTEADY = ((re.compile(r"\b0x[0-9a-f]+"), "0x..."), (re.compile(r"/[^\s'\"]*/"), ""))


class _TooLong(BaseException):
    pass


def run(program: dict[str, Any], home: Path, where: str) -> dict[str, Any]:
    """``program``: ``text``, ``lines`` of interest (statement → first and last line), and other ``files``.

    Returns ``statements``, each with what became of it, and the ``libraries`` that were not there.
    """
    return _Run(program, home, where).all()


class _Run:
    def __init__(self, program: dict[str, Any], home: Path, where: str) -> None:
        for name, text in program["files"].items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8")
        self.path = str(home / "program.py")
        Path(self.path).write_text(program["text"], encoding="utf-8")
        os.chdir(home)
        sys.path.insert(0, str(home))
        sys.argv[:] = [self.path]
        os.environ.update(_ENVIRONMENT, MASTER_PORT=str(20000 + os.getpid() % 20000))
        self.text = program["text"]
        self.tree = ast.parse(self.text)
        self.flags = _future_flags(self.tree)
        self.wanted: dict[str, list[int]] = program["lines"]
        self.reached: set[int] = set()
        self.outcomes: dict[str, str] = {}
        self.passed: set[int] = set()
        """Lines of this attempt that an error of another line went through."""
        self.attempt: dict[int, str] = {}
        self.kernels: dict[int, list[str]] = {}
        self.where = where
        own = frozenset(name.partition("/")[0].removesuffix(".py") for name in program["files"]) | {"program"}
        self.uses = libraries.install(self.path, own)
        self.space: dict[str, Any] = {}

    def all(self) -> dict[str, Any]:
        self._make_files()
        self._run(self.tree)
        if any("process group has not been initialized" in told for told in self.outcomes.values()):
            torch.distributed.init_process_group("cpu:gloo,npu:hccl")
            self.outcomes = {text: told for text, told in self.outcomes.items() if told.startswith(DONE)}
            self._run(self.tree)
        missing = {first for text, (first, _) in self.wanted.items() if self._outcome(text) == NOT_REACHED}
        if missing:
            self._run(forced(ast.parse(self.text), missing))
        return {
            "statements": {text: self._outcome(text) for text in self.wanted},
            "libraries": sorted(self.uses.used),
        }

    def _make_files(self) -> None:
        """Checkpoints that the program loads."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                path = Path(node.value)
                if path.suffix in (".pt", ".pth", ".ckpt", ".bin") and not path.is_absolute() and len(path.name) < 60:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    torch.save({"weight": torch.ones(2)}, path)

    def _run(self, tree: ast.Module) -> None:
        self.space = {"__name__": "__main__", "__file__": self.path}
        for name in _left_out(tree):
            self.space[name] = samples.sample(name, "", "tensor")
        for statement in tree.body:
            code = compile(ast.Module([statement], []), self.path, "exec", self.flags, dont_inherit=True)
            self._try(exec, code, self.space)
        for statement in tree.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._call_function(self.space.get(statement.name), statement)
            elif isinstance(statement, ast.ClassDef):
                self._use_class(self.space.get(statement.name), statement)

    def _outcome(self, text: str) -> str:
        return self.outcomes.get(text, NOT_REACHED)

    def _judge(self) -> None:
        """What the last attempt says of each statement.

        One attempt that takes it is enough; else the first error counts.
        """
        for text, (first, last) in self.wanted.items():
            lines = range(first, last + 1)
            now = self._outcome(text)
            if now.startswith(DONE) or not any(line in self.reached for line in lines):
                continue
            refused = next((self.attempt[line] for line in lines if line in self.attempt), None)
            stood_in = next((self.uses.lines[line] for line in lines if line in self.uses.lines), None)
            if refused is not None:
                self.outcomes[text] = refused if now == NOT_REACHED or now.startswith(STAND_IN) else now
            elif stood_in is not None:
                self.outcomes[text] = f"{STAND_IN} {stood_in}" if now == NOT_REACHED else now
            elif not any(line in self.passed for line in lines):
                asked = [name for line in lines for name in self.kernels.get(line, ()) if not name.startswith("aten::")]
                self.outcomes[text] = ", ".join([DONE, *dict.fromkeys(asked)])

    # One attempt

    def _try(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        """Call it, and note which lines of the program it went through, and where it was stopped."""
        self.attempt, self.reached, self.passed = {}, set(), set()
        self.uses.lines.clear()
        result = None
        signal.signal(signal.SIGALRM, _raise_too_long)
        signal.alarm(_ATTEMPT_SECONDS)
        mode = self._mode()
        sys.settrace(self._trace)
        try:
            with mode as kernels:
                self.mode = kernels
                result = function(*arguments, **keywords)
        except BaseException as error:  # whatever it raises is the answer
            line = self._deepest(error.__traceback__)
            sys.settrace(None)
            if line is not None and not isinstance(error, SystemExit):
                self.attempt.setdefault(line, _told(error))
        finally:
            sys.settrace(None)
            signal.alarm(0)
        self._judge()
        return result

    def _mode(self) -> Any:
        if self.where == "simulated":
            return contextlib.nullcontext()
        from npuify.selftest.inside.forms.kernels import Kernels

        return Kernels()

    def _deepest(self, at: types.TracebackType | None) -> int | None:
        found = None
        while at is not None:
            if at.tb_frame.f_code.co_filename == self.path:
                found = at.tb_lineno
            at = at.tb_next
        return found

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        return self._trace_lines if frame.f_code.co_filename == self.path else None

    def _trace_lines(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            self.reached.add(frame.f_lineno)
        elif event == "exception":
            kind, error, at = argument
            if not issubclass(kind, (StopIteration, GeneratorExit, SystemExit)):
                if self._deepest(at) == frame.f_lineno:
                    self.attempt.setdefault(frame.f_lineno, _told(error))
                else:
                    self.passed.add(frame.f_lineno)
        kernels = getattr(self.mode, "asked", None)
        if kernels:
            self.kernels.setdefault(frame.f_lineno, []).extend(kernels)
            kernels.clear()
        return self._trace_lines

    # Calling what the program only defines

    def _unproven(self, node: ast.stmt) -> bool:
        inside = [
            text for text, (first, _) in self.wanted.items() if node.lineno <= first <= (node.end_lineno or first)
        ]
        return any(not self._outcome(text).startswith((DONE, STAND_IN)) for text in inside)

    def _call_function(self, function: Any, node: ast.stmt) -> None:
        for kind in samples.KINDS:
            if not self._unproven(node):
                return
            result = self._try_with_samples(function, kind)
            for _ in range(3):
                if not isinstance(result, types.FunctionType) or result is function:
                    break
                result = self._try_with_samples(result, kind)

    def _try_with_samples(self, function: Any, kind: str) -> Any:
        if not callable(function):
            return None
        try:
            positional, named = _arguments(function, kind)
        except Exception:  # nothing can be told of how it is called
            return None
        result = self._try(function, *positional, **named)
        if inspect.isgenerator(result):
            result = self._try(list, result)
        return result

    def _use_class(self, made_of: Any, node: ast.ClassDef) -> None:
        if not isinstance(made_of, type):
            return
        for kind in samples.KINDS:
            if not self._unproven(node):
                return
            it = self._try_with_samples(made_of, kind)
            for method in node.body:
                if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.name == "__init__":
                    continue
                if self._unproven(method):
                    self._call_method(it if it is not None else made_of, method, kind)

    def _call_method(self, it: Any, method: ast.FunctionDef | ast.AsyncFunctionDef, kind: str) -> None:
        is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in method.decorator_list)
        if is_property:
            self._try(getattr, it, method.name)
            return
        found = getattr(it, method.name, None)
        if isinstance(it, type) and inspect.isfunction(found):
            found = found.__get__(libraries.Thing())
        self._try_with_samples(found, kind)


def _arguments(function: Any, kind: str) -> tuple[list[Any], dict[str, Any]]:
    positional, named = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and kind == "tensor":
            continue  # first as it is meant
        annotation = "" if parameter.annotation is parameter.empty else parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        value = samples.sample(parameter.name, text, kind)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def _left_out(tree: ast.Module) -> list[str]:
    """Names that the program uses and nothing in it makes."""
    made, used = set(dir(builtins)), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            made.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            if any(alias.name == "*" for alias in node.names):
                return []
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            made.add(node.name)
    return sorted(used - made - {"__file__", "__name__"})


def _future_flags(tree: ast.Module) -> int:
    names = [a.name for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__" for a in s.names]
    flags = 0
    for name in names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def _raise_too_long(number: int, frame: Any) -> None:
    raise _TooLong


_RUNTIME = re.compile(r"Failed to find function ((?:acl|Hccl)\w+)")
"""A function of CANN's runtime that the stand-ins lack: until there, all was taken."""


def _told(error: BaseException) -> str:
    lacks = _RUNTIME.search(str(error))
    if lacks is not None:
        return f"{DONE}, {lacks.group(1)}"
    text = (str(error).strip().splitlines() or [""])[0]
    for pattern, stands_for in _UNSTEADY:
        text = pattern.sub(stands_for, text)
    return f"{type(error).__name__}: {text[:300]}".removesuffix(": ")
