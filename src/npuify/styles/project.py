"""Works out, from the whole project, what its style has to know before files are looked at."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.analysis.project import is_test
from npuify.helpers.compute_device import NAMES, is_helper
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.options import check_style
from npuify.project.import_paths import ImportPaths
from npuify.project.requirements import lowest_torch
from npuify.rules.placement.program import may_be_placed
from npuify.rules.style_plan import Home, StylePlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from npuify.model import EntryPoint, Survey
    from npuify.options import Options
    from npuify.project import ProjectFile, TorchRequirement


def plan_style(
    options: Options,
    files: Sequence[ProjectFile],
    survey: Survey,
    requirement: TorchRequirement | None,
) -> StylePlan:
    """What the style of a run has to know.

    Args:
        options: says the style.
        files: the project's files; of those that are Python the text is read.
        survey: its entry points.
        requirement: what it asks of torch.

    Raises:
        NpuifyError: there is no such style.
    """
    check_style(options.style)
    if options.style == "npu" and not options.place_on_npu:
        return StylePlan(device_default=bool(options.device_default))
    contents = {file.relative: _read(file.path) for file in files if file.kind == "python"}
    return plan_of(options, contents, survey, requirement)


def plan_of(
    options: Options,
    contents: Mapping[str, bytes],
    survey: Survey,
    requirement: TorchRequirement | None,
) -> StylePlan:
    """As :func:`plan_style`, with the content of the Python files given, by relative path."""
    if options.style == "portable":
        plan = _portable(options, contents, survey, requirement)
    elif options.style == "auto":
        plan = _auto(options, contents, survey)
    else:
        plan = StylePlan(place_on_npu=options.place_on_npu)
    plan = msgspec.structs.replace(plan, device_default=bool(options.device_default))
    if not options.place_on_npu:
        return plan
    placed = (name for name, raw in contents.items() if not is_test(name) and may_be_placed(raw))
    return msgspec.structs.replace(plan, placed=frozenset(placed))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# --- portable --------------------------------------------------------------------------------------------------------


def _portable(
    options: Options,
    contents: Mapping[str, bytes],
    survey: Survey,
    requirement: TorchRequirement | None,
) -> StylePlan:
    from npuify import knowledge

    # A project that names no torch may run with any on CUDA: the helper needs none in particular.
    torch = lowest_torch(requirement.specifier) if requirement else ""
    accelerator = knowledge.accelerator_names(torch)
    written = {relative: raw for relative, raw in contents.items() if is_helper(raw)}
    code = {relative: raw for relative, raw in contents.items() if relative not in written}
    pure = not written and not options.place_on_npu and _needs_no_helper(code, accelerator)
    helper = _helper_name(code, written)
    paths = ImportPaths(code)
    started = _started_by_path(survey)
    kept = {posixpath.dirname(relative) for relative in written}
    homes = {}
    # A script takes the helper from a package that needs one itself, so that there are not two of them.
    places = {relative: paths.home(relative, started=relative in started) for relative in code}
    packages = frozenset(
        folder
        for relative, (folder, package) in places.items()
        if package and folder == paths.top_package(relative) and (_says_cuda(code[relative]) or folder in kept)
    )
    searched = _searched_packages(code, paths)
    for relative in code:
        top = paths.top_package(relative)
        if top in searched:
            folder, package = top, ""
        else:
            folder, package = paths.home(relative, started=relative in started, packages=packages)
        homes[relative] = Home(posixpath.join(folder, f"{helper}.py"), package)
    return StylePlan(
        style="portable",
        place_on_npu=options.place_on_npu,
        torch=torch,
        accelerator=accelerator,
        pure=pure,
        helper=helper,
        homes=homes,
    )


_PUT_ON_PATH: Final = re.compile(rb"^[^#\n]*\bsys\.path\b[^\n]*", re.MULTILINE)
_QUOTED: Final = re.compile(rb"[\"']([\w./-]+)[\"']")


def _searched_packages(code: Mapping[str, bytes], paths: ImportPaths) -> frozenset[str]:
    """Packages that no file imports as such: a program puts their folder on the path and takes modules out of it.

    ``sys.path.append("core")`` and ``from raft import RAFT``. A relative import in such a module fails, whatever
    ``__init__.py`` lies beside it.
    """
    named = {
        text.decode().strip("./")
        for raw in code.values()
        if b"sys.path" in raw
        for line in _PUT_ON_PATH.findall(raw)
        for text in _QUOTED.findall(line)
    }
    tops = {paths.top_package(relative) for relative in code} - {""}
    found = set()
    for top in tops:
        if not any(top == name or top.endswith(f"/{name}") for name in named if name):
            continue
        own = posixpath.basename(top)
        inside = {relative for relative in code if relative.startswith(f"{top}/")}
        said = {name for one in paths.imports.values() for name in one.absolute}
        as_package = any(name == own or name.startswith(f"{own}.") for name in said)
        by_name = any(f"{top}/{name}.py" in inside for name in said if "." not in name)
        if by_name and not as_package and not any(paths.imports[relative].relative for relative in inside):
            found.add(top)
    return frozenset(found)


def _helper_name(code: Mapping[str, bytes], written: Mapping[str, bytes]) -> str:
    """The name of the helper that is there, or one that the project says nowhere."""
    for relative in written:
        return posixpath.basename(relative).removesuffix(".py")
    for number in range(1000):
        name = NAMES[number] if number < len(NAMES) else f"{NAMES[0]}_{number}"
        if not any(name.encode() in raw for raw in code.values()) and not any(name in file for file in code):
            return name
    raise NpuifyError(
        "all names for the helper module are taken", advice=phrase("rename the project's {NAMES}.py", NAMES=NAMES[0])
    )


def _started_by_path(survey: Survey) -> frozenset[str]:
    """Files that are started as scripts, not only as ``python -m`` or from an installed command."""
    return frozenset(
        point.file
        for point in survey.entry_points
        if any(".py" in mention.text for mention in point.mentions) or not any(one.text for one in point.mentions)
    )


_COMMENT: Final = re.compile(rb"#[^\n]*")
_STRING: Final = re.compile(rb"\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_CHOICE: Final = re.compile(
    rb"(?:torch\.device\()?([\"'])cuda(?::\d+)?\1\)?\s+if\s+torch\.cuda\.is_available\(\)\s+else"
)
_LEFT: Final = re.compile(
    rb"(?<!\w)cuda(?!\w)|nccl|NCCL|is_cuda|cuda_|CUDA_|CUDAGraph|GradScaler|autocast|apex|flash_attn|xformers|"
    rb"ProfilerActivity|fork_rng"
)
_NAMES: Final = {
    b"is_available": "is_available",
    b"device_count": "device_count",
    b"synchronize": "synchronize",
    b"current_device": "current_device_index",
    b"set_device": "set_device_index",
}


def _needs_no_helper(code: Mapping[str, bytes], accelerator: frozenset[str]) -> bool:
    """Whether all that a project says of CUDA has a form in ``torch.accelerator``.

    Judged by the text, and in doubt with no: device names count only where they are chosen by
    ``torch.cuda.is_available()`` itself, so that a machine without a device never needs a name for one.
    """
    known = [name for name, target in _NAMES.items() if target in accelerator]
    if not known or "current_accelerator" not in accelerator:
        return False
    call = re.compile(rb"torch\.cuda\.(?:" + b"|".join(known) + rb")\((?![^()\n]*=)")
    for relative, raw in code.items():
        if b"cuda" not in raw and b"nccl" not in raw.lower() and b"apex" not in raw:
            continue
        if is_test(relative) and b"torch" not in raw:
            continue
        text = call.sub(b"", _CHOICE.sub(b"", _code(raw)))
        # What is left of a choice is its condition, which was taken with it.
        if _LEFT.search(text):
            return False
    return True


# --- auto ------------------------------------------------------------------------------------------------------------

_CUDA: Final = re.compile(
    rb"(?<![a-z])cuda(?![a-z]|_home\b)|nccl|(?<!npu\.amp\.)(?:gradscaler|autocast)", re.IGNORECASE
)
_CUDA_PATH: Final = re.compile(
    rb"[\"'](?![^\"'\s]*://)[^\"'\s(){}]*cuda[^\"'\s(){}]*(?:/|\.(?:pt|pth|ckpt|bin|tar|pkl|npz)[\"'])"
    rb"|[\"'][^\"'\s(){}:]*/[^\"'\s(){}:]*cuda[^\"'\s(){}]*[\"']"
)
"""A string that is a path with "cuda" in it; addresses in the net are none."""
_RUNS_TESTS: Final = re.compile(rb"^if[ \t(]+__name__[ \t]*==[ \t]*[\"']__main__[\"']", re.MULTILINE)
_TESTS: Final = re.compile(
    rb"^[ \t]*(?:async[ \t]+)?def[ \t]+test|^[ \t]*class[ \t]+Test|\b(?:unittest|pytest)\b", re.MULTILINE
)
"""What a runner of tests looks for."""
_FOR_PYTEST: Final = re.compile(
    rb"^(?:async[ \t]+)?def[ \t]+test_|^class[ \t]+Test|\bunittest\b|\bpytest\b", re.MULTILINE
)
_SHOWS_TORCH: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*)torch\b", re.MULTILINE
)


def _auto(options: Options, contents: Mapping[str, bytes], survey: Survey) -> StylePlan:
    paths = ImportPaths(contents)
    concerned = frozenset(relative for relative, raw in contents.items() if _CUDA.search(raw) and _says_cuda(raw))
    torch = frozenset(relative for relative, raw in contents.items() if _SHOWS_TORCH.search(raw))
    entries = set()
    for point in survey.entry_points:
        if point.file not in contents or _installs(point.file):
            continue
        reached = paths.reached(point.file)
        if reached.isdisjoint(torch) or (reached.isdisjoint(concerned) and not options.place_on_npu):
            continue
        entries.add(_first_run(point, paths, torch))
    for relative, raw in contents.items():
        if relative in entries or _installs(relative) or not paths.is_imported_by_none(relative):
            continue
        reached = paths.reached(relative)
        if reached.isdisjoint(torch) or (reached.isdisjoint(concerned) and not options.place_on_npu):
            continue
        # A file of tests that starts itself is a program as well; and a name alone makes no file one of tests.
        if _RUNS_TESTS.search(raw) if is_test(relative) and _TESTS.search(raw) else _is_script(raw):
            entries.add(relative)
    tested = _first_of_tests(contents, paths, torch, concerned) - entries
    library = ""
    # Without PyTorch there is nothing that transfer_to_npu would replace.
    if not entries and concerned and any(b"torch" in raw for raw in contents.values()):
        library = min(concerned, key=lambda file: (is_test(file), file.count("/"), file))
    return StylePlan(
        style="auto",
        place_on_npu=options.place_on_npu,
        entries=frozenset(entries | tested),
        has_cuda_paths=any(_CUDA_PATH.search(raw) for raw in contents.values()),
        library=library,
    )


def _first_of_tests(
    contents: Mapping[str, bytes], paths: ImportPaths, torch: frozenset[str], concerned: frozenset[str]
) -> set[str]:
    """What pytest loads first for each file of tests that has to do with CUDA: the nearest conftest, else the file."""
    found = set()
    for relative, raw in contents.items():
        if not (is_test(relative) and _FOR_PYTEST.search(raw)) or not paths.is_imported_by_none(relative):
            continue
        reached = paths.reached(relative)
        if reached.isdisjoint(torch) or reached.isdisjoint(concerned):
            continue
        folders = [posixpath.dirname(relative)]
        while folders[-1]:
            folders.append(posixpath.dirname(folders[-1]))
        conftests = (posixpath.join(folder, "conftest.py") for folder in folders)
        found.add(next((one for one in conftests if one in contents), relative))
    return found


def _installs(relative: str) -> bool:
    """Whether a file only builds and installs: it computes nothing, and torch_npu need not be there yet."""
    return relative.rpartition("/")[2] == "setup.py"


def _says_cuda(raw: bytes) -> bool:
    """Whether code, not only comments and sentences, says a word of CUDA."""
    return _CUDA.search(_code(raw)) is not None


def _code(raw: bytes) -> bytes:
    """A file's text without comments, and without strings that are sentences, options or paths."""
    return _COMMENT.sub(b"", _STRING.sub(lambda one: b'""' if re.search(rb"[ /-]", one[0]) else one[0], raw))


def _is_script(raw: bytes) -> bool:
    """Whether a file does something when it is run, besides defining and importing things."""
    try:
        tree = ast.parse(raw)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(map(_does_something, tree.body))


def _does_something(item: ast.stmt) -> bool:
    if isinstance(item, (ast.If, ast.Try)):
        return any(map(_does_something, [*item.body, *item.orelse]))
    return isinstance(item, (ast.For, ast.While, ast.With, ast.Match)) or (
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Call)
    )


def _first_run(point: EntryPoint, paths: ImportPaths, torch: frozenset[str]) -> str:
    """The file of a program that runs first of those that bring torch.

    A file that is started as a module of a package, by ``python -m`` or an installed command, runs after the
    ``__init__`` of that package, which may take names out of torch before.
    """
    as_module = any(one.kind == "console script" or re.search(r"\s-m\s", one.text) for one in point.mentions)
    top = paths.top_package(point.file)
    if as_module and top:
        folder, inits = posixpath.dirname(point.file), list[str]()
        while folder and (folder == top or folder.startswith(f"{top}/")):
            inits.append(f"{folder}/__init__.py")
            folder = posixpath.dirname(folder)
        for init in reversed(inits):
            if not paths.reached(init).isdisjoint(torch):
                return init
    return point.file
