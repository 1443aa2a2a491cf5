"""A whole conversion: migrate to the NPU, then from one card to many."""

from __future__ import annotations

import ast
import difflib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.distribute.changes.accumulation import gather_once
from npuify.distribute.changes.data import share_out
from npuify.distribute.changes.data_parallel import replace_data_parallel
from npuify.distribute.changes.evaluation import share_evaluation
from npuify.distribute.changes.rank_zero import load_to_own_card, only_once
from npuify.distribute.changes.scaling import scale_learning_rate
from npuify.distribute.changes.setup import free_devices, put_import, set_up
from npuify.distribute.changes.wrapping import wrap_models
from npuify.distribute.complete import can_complete, complete
from npuify.distribute.edits import Draft
from npuify.distribute.losses.gradients import Gradients
from npuify.distribute.losses.metrics import reduce_losses
from npuify.distribute.losses.summed import add_up
from npuify.distribute.reading.loops import Loops
from npuify.distribute.reading.models import Models
from npuify.distribute.reading.program import Program
from npuify.distribute.refusals import HELPER, refuse, refuse_at_sight
from npuify.distribute.tensorflow import convert_tensorflow, is_tensorflow
from npuify.engine.alone import ENGINE
from npuify.language import commas, phrase, speaking
from npuify.language.code import code_in_language
from npuify.model import Change, Finding, NpuifyError, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from npuify.model import MigrationResult
    from npuify.options import Options

    Progress = Callable[[int, int], None]

MODES: Final = ("copy", "diff", "check")
SCALINGS: Final = ("", "linear", "sqrt")
_MENDS: Final = {"NPU385": "NPU911", "NPU364": "NPU310", "NPU365": "NPU807"}
"""Codes of the migration that an edit of the conversion at the same place settles."""
_MARK: Final = "npuify: ignore-file - written by `npuify distribute`"


class ConversionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a conversion.

    Attributes:
        entry: the file that is started, relative to the project.
        model: the name of the model that trains, as the program calls it; empty for all that are found.
        sync_batchnorm: BatchNorm over the samples of all cards.
        scale_lr: ``linear`` or ``sqrt`` multiplies the learning rate by the number of cards or its root.
        keep_global_batch: the program's batch size is that of all cards together, instead of each.
        complete: add to a program that is distributed already what it lacks, instead of refusing it.
    """

    entry: str
    model: str = ""
    sync_batchnorm: bool = False
    scale_lr: str = ""
    keep_global_batch: bool = False
    complete: bool = False


def helper_text() -> bytes:
    """The module that is written beside the entry point, its comments in the user's language."""
    text = (Path(__file__).parent / "runtime" / f"{HELPER}.py").read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert head.startswith("# mypy:")
    return f"# {_MARK}\n{code_in_language(rest)}".encode()


def distribute(
    source: Path,
    destination: Path | None,
    conversion: ConversionOptions,
    options: Options,
    *,
    mode: str = "copy",
    force: bool = False,
    progress: Progress | None = None,
) -> MigrationResult:
    """Convert a training program for one card into one for many; see ``npuify distribute --help``.

    Args:
        source: the project's folder, or one file. It is never changed.
        destination: the folder to write the converted copy and ``npuify-report/`` into, for ``mode="copy"``.
        conversion: what the conversion shall do.
        options: how CUDA code is migrated before; its style must be ``npu``.
        mode: ``copy``, or ``diff`` and ``check``, which write nothing.
        force: replace a destination that is not empty.
        progress: called with the number of files done and of files to do, while migrating.

    Returns:
        What was changed and what is left. Where the program is refused nothing was changed, nothing is written, and
        ``left`` holds the reasons, NPU380 and NPU390 to NPU399.

    Raises:
        NpuifyError: wrong use, or the output cannot be written.
    """
    from npuify.migration import written
    from npuify.rewrite.tree import check_destination

    if mode not in MODES:
        raise NpuifyError(
            phrase("the mode {mode!r} does not exist", mode=mode), advice=phrase("one of {MODES}", MODES=commas(MODES))
        )
    if conversion.scale_lr not in SCALINGS:
        raise NpuifyError(
            phrase("--scale-lr {scale_lr} does not exist", scale_lr=conversion.scale_lr), advice="linear or sqrt"
        )
    if conversion.scale_lr and conversion.keep_global_batch:
        raise NpuifyError(
            "--scale-lr and --global-batch keep exclude each other",
            advice="if the global batch stays the same, so does the learning rate",
        )
    if mode == "copy":
        if destination is None:
            raise NpuifyError("no destination is given", advice="specify one with -o, or use --diff or --check")
        check_destination(source, destination, force=force)
    with speaking(options.language), ENGINE:
        result, contents = plan(source, conversion, options, progress)
    if mode != "copy" or is_refused(result):
        return result
    return written(source, destination, result, contents, mode=mode, force=force)


def is_refused(result: MigrationResult) -> bool:
    """Whether a program was refused, so that nothing was changed."""
    return any(finding.code in ("NPU380", *(f"NPU39{one}" for one in range(10))) for finding in result.left)


def plan(
    source: Path, conversion: ConversionOptions, options: Options, progress: Progress | None = None
) -> tuple[MigrationResult, dict[str, bytes]]:
    """Work out a conversion without writing anything.

    Returns:
        The result, and the new content of each file that changes, by relative path.

    Raises:
        NpuifyError: the entry point is not there, or the project has a file of the helper module's name.
    """
    from npuify.rewrite.plan import plan as migration

    if options.style != "npu":
        raise NpuifyError(phrase("a conversion is written in the style npu, not {style}", style=options.style))
    result, contents = migration(source, options, progress)
    root = Path(result.scan.root)
    entry = _entry(conversion.entry, root)
    program = Program(root, _python_files(source, root), contents, entry)
    draft = Draft()
    if is_tensorflow(program):
        return _tensorflow(result, program, conversion, draft, contents)
    completes = conversion.complete and can_complete(program)
    if refuse_at_sight(program, draft) and not (completes and _is_completable(draft)):
        return _refused(result, draft, contents), {}
    loops = Loops(program)
    if refuse(program, loops, draft) and not (completes and _is_completable(draft)):
        return _refused(result, draft, contents), {}
    home, line = _home(entry, program)
    helper = f"{home}{HELPER}.py"
    if (root / helper).exists():
        raise NpuifyError("the project has a module with this name, which the helper module uses", file=helper)
    if draft.findings:
        draft.forget()
        complete(program, loops, draft)
    else:
        _convert(program, loops, conversion, draft)
    for unit in sorted(draft.uses_helper, key=lambda one: one.relative):
        put_import(unit, draft, line)
    texts = _texts(program, draft)
    if draft.uses_helper:
        texts[helper] = helper_text()
    return _merged(result, draft, contents, texts), {**contents, **texts}


def _tensorflow(
    result: MigrationResult, program: Program, conversion: ConversionOptions, draft: Draft, contents: dict[str, bytes]
) -> tuple[MigrationResult, dict[str, bytes]]:
    if conversion.keep_global_batch or conversion.scale_lr or conversion.model or conversion.complete:
        raise NpuifyError("--model, --scale-lr, --global-batch and --complete are for PyTorch programs")
    convert_tensorflow(program, draft)
    if any(finding.code in ("NPU392", "NPU395", "NPU398") for finding in draft.findings):
        return _refused(result, draft, contents), {}
    texts = _texts(program, draft)
    return _merged(result, draft, contents, texts), {**contents, **texts}


def _texts(program: Program, draft: Draft) -> dict[str, bytes]:
    """The files that the conversion changes, by their paths."""
    texts: dict[str, bytes] = {}
    for unit in program.units:
        text = draft.text_of(unit)
        if text is not None:
            _check(unit.relative, text)
            texts[unit.relative] = text
    return texts


def _is_completable(draft: Draft) -> bool:
    """Whether nothing but its processes and its process group speaks against a program."""
    own = all(finding.code in ("NPU392", "NPU393") for finding in draft.findings)
    return own and not any("Horovod" in one.message or "converted by npuify" in one.message for one in draft.findings)


def _convert(program: Program, loops: Loops, conversion: ConversionOptions, draft: Draft) -> None:
    models = Models(program, loops, conversion.model)
    if conversion.model and not models.uses:
        raise NpuifyError(
            phrase("no model named {model} is called in training", model=conversion.model),
            advice="use the model's name in the training loop, or omit --model",
        )
    set_up(program.entry, draft, by_hand=any(one.trains and one.data is None for one in loops.passes))
    free_devices(program, draft)
    parallel = replace_data_parallel(program, draft)
    wrap_models(program, loops, models, draft, sync_batchnorm=conversion.sync_batchnorm)
    share_out(program, loops, models, draft, keep_global_batch=conversion.keep_global_batch, data_parallel=parallel)
    gradients = Gradients(program, loops)
    share_evaluation(program, loops, gradients, draft)
    reduce_losses(program, loops, gradients, draft)
    add_up(program, loops, draft, keep_global_batch=conversion.keep_global_batch)
    gather_once(program, loops, models, draft)
    if conversion.scale_lr:
        scale_learning_rate(program, draft, conversion.scale_lr)
    only_once(program, draft)
    load_to_own_card(program, draft)


def _entry(given: str, root: Path) -> str:
    path = Path(given)
    if path.is_absolute():
        try:
            path = path.resolve().relative_to(root.resolve())
        except ValueError:
            raise NpuifyError("is not in the project", file=given) from None
    return path.as_posix()


def _python_files(source: Path, root: Path) -> list[str]:
    from npuify.project.files import find_files

    return [file.relative for file in find_files([source]) if file.relative.endswith(".py")]


def _home(entry: str, program: Program) -> tuple[str, str]:
    """The folder of the helper module, and the line that imports it."""
    from npuify.rules.common.packages.helper_modules import home_of, import_of

    home = home_of(entry, program.index)
    folder = entry.rpartition("/")[0]
    if home and not _belongs_to_package(program, home.rstrip("/").rpartition("/")[2]):
        # A script in a folder that is a package, too: Python looks beside the script.
        return f"{folder}/" if folder else "", f"import {HELPER}"
    full = import_of(HELPER, home, program.index)
    package = full.rpartition(".")[0]
    return home, f"from {package} import {HELPER}" if package else f"import {HELPER}"


def _belongs_to_package(program: Program, package: str) -> bool:
    """Whether the entry point is run as a module of its package: it imports its neighbours by the package's name."""
    for node in program.entry.nodes:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == package):
            return True
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == package for alias in node.names):
            return True
    return False


def _check(relative: str, text: bytes) -> None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise NpuifyError(
            phrase("the converted file would not parse: {msg}", msg=error.msg),
            advice="nothing was written; please report this as a bug in npuify",
            file=relative,
            line=error.lineno or 0,
        ) from None


# --- results --------------------------------------------------------------------------------------------------------


def _refused(result: MigrationResult, draft: Draft, contents: Mapping[str, bytes]) -> MigrationResult:
    root = Path(result.scan.root)
    found = tuple(_moved(finding, contents, _originals(root, contents)) for finding in draft.findings)
    scan = msgspec.structs.replace(result.scan, findings=found)
    return msgspec.structs.replace(result, scan=scan, changes=(), left=found, changed_files=(), diff="")


def _merged(
    result: MigrationResult, draft: Draft, contents: Mapping[str, bytes], texts: Mapping[str, bytes]
) -> MigrationResult:
    """The migration's result with what the conversion adds to it.

    Lines of what was found are those of the original files, lines of what is left those of the converted ones.
    """
    from npuify.rewrite.diff import file_diff

    root = Path(result.scan.root)
    found = [_moved(finding, contents, _originals(root, contents)) for finding in draft.findings]
    everything = {**contents, **texts}
    mended = {
        (one.file, one.start.line, _MENDS[one.code]) for one in draft.findings if one.edits and one.code in _MENDS
    }
    stays = [one for one in result.left if (one.file, one.start.line, one.code) not in mended]
    before = {**_originals(root, texts), **contents}
    left = [_moved(one, before, texts) for one in (*stays, *(one for one in draft.findings if not one.edits))]
    order = sorted(left, key=lambda one: (one.file, one.start, one.code))
    scan = msgspec.structs.replace(
        result.scan,
        findings=tuple(sorted((*result.scan.findings, *found), key=lambda one: (one.file, one.start, one.code))),
    )
    changes = [*result.changes, *(_change(finding) for finding in found if finding.edits)]
    changes += [
        Change(
            file=helper,
            code="NPU350",
            name="no-process-group",
            start=Position(1, 1),
            end=Position(1, 1),
            before="",
            after="a new file",
            message=phrase("the helper module that converted files import"),
        )
        for helper in texts
        if helper.endswith(f"{HELPER}.py")
    ]
    return msgspec.structs.replace(
        result,
        scan=scan,
        left=tuple(order),
        changes=tuple(sorted(changes, key=lambda one: (one.file, one.start, one.code))),
        changed_files=tuple(sorted(everything)),
        diff="".join(file_diff(root, relative, everything[relative]) for relative in sorted(everything)),
    )


def _change(finding: Finding) -> Change:
    return Change(
        file=finding.file,
        code=finding.code,
        name=finding.name,
        start=finding.start,
        end=finding.end,
        before=" … ".join(edit.before for edit in finding.edits if edit.before),
        after=" … ".join(edit.after.strip() for edit in finding.edits if edit.after.strip()),
        message=finding.message,
    )


def _originals(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in names if (root / name).exists()}


def _moved(finding: Finding, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Finding:
    """A finding about one text of a file, at the lines of another text of it."""
    old, new = before.get(finding.file), after.get(finding.file)
    if old is None or new is None or old == new:
        return finding
    lines = _line_map(old, new)

    def moved(place: Position) -> Position:
        return Position(lines[min(place.line, len(lines)) - 1], place.column)

    return msgspec.structs.replace(finding, start=moved(finding.start), end=moved(finding.end))


@lru_cache(maxsize=64)
def _line_map(old: bytes, new: bytes) -> list[int]:
    """For each line of one text, the line of the other that it became, or that stands where it stood."""
    first, second = old.split(b"\n"), new.split(b"\n")
    lines = [1] * len(first)
    for _, begin, end, start, stop in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for place in range(begin, end):
            lines[place] = min(start + (place - begin), max(stop - 1, start)) + 1
    return lines


__all__ = ["MODES", "SCALINGS", "ConversionOptions", "distribute", "helper_text", "is_refused", "plan"]
