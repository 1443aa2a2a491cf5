"""What is done before the first step: the two copies of the project, and what their programs need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.verify.loss.points import counted

from .bench import copy, files, own_modules
from .plan import filled
from .runner import run
from .start import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import EntryPoint, MigrationResult

    from .model import Devices

_SHOWN: Final = 5


def copies(
    project: Path, migrated: Path | None, original: Path, target: Path, tf_adapter: str = ""
) -> tuple[list[str], tuple[EntryPoint, ...]]:
    """Copy the original, and its migrated copy, which is made where there is none.

    Args:
        tf_adapter: the adapter for the TensorFlow that runs the programs; empty where the project says it.

    Returns:
        What was done, in words, and the project's entry points.

    Raises:
        NpuifyError: the project cannot be migrated.
    """
    from npuify.engine.scan import scan
    from npuify.migration import migrate
    from npuify.options import Options

    copy(project, original)
    if migrated is not None:
        copy(migrated, target)
        points = scan([project], Options(jobs=1, cache=False)).survey.entry_points
        return [phrase("the migrated program is {migrated}", migrated=migrated)], points
    options = Options(unsafe=True, jobs=1, cache=False, tf_adapter=tf_adapter)
    result: MigrationResult = migrate(project, target, options)
    left = [one for one in result.left if one.severity.value == "error"]
    told = phrase(
        "migrated by npuify: {number} changes in {number2} files",
        number=len(result.changes),
        number2=len(result.changed_files),
    )
    if left:
        told += phrase("; {findings} that may stop a program left", findings=counted(len(left), "finding"))
    return [
        told,
        *(
            phrase("left: {file}:{line}: {message}", file=one.file, line=one.start.line, message=one.message)
            for one in left[:_SHOWN]
        ),
    ], (result.scan.survey.entry_points)


def data_path(data: str) -> tuple[str, Path]:
    """The name by which programs look for data, and where it lies.

    Args:
        data: ``PATH`` or ``NAME=PATH``.

    Raises:
        NpuifyError: there is no such file or folder.
    """
    name, equals, place = data.partition("=")
    own = not equals or Path(data).exists()
    place = data if own else place
    path = Path(place).expanduser().resolve()
    if not place or not path.exists():
        raise NpuifyError("no such file or folder", advice="--data PATH, or --data NAME=PATH", file=place or data)
    return path.name if own else name, path


def put_data(data: str, folders: Sequence[Path], start: str = "") -> str:
    """Put data into the folders that programs run in, as links: data sets are large, and are used where they lie.

    Args:
        data: ``PATH``, or ``NAME=PATH`` where programs look for it by another name, relative to their folder.
        folders: the copies.
        start: the folder in them that programs are started in; empty: they themselves.

    Returns:
        What was done, in words.

    Raises:
        NpuifyError: there is no such file or folder, or the name leads out of the folders.
    """
    name, path = data_path(data)
    relative = Path(os.path.normpath(Path(start, name)))
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise NpuifyError(
            phrase("--data {data}: {name} is not a name inside of the project", data=data, name=name),
            advice="--data data/train=PATH, for example",
        )
    for folder in folders:
        link = folder / relative
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(path, target_is_directory=path.is_dir())
        except OSError:
            # Windows allows links to few.
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, link)
    return phrase("{path} is {as_posix} for both programs", path=path, as_posix=Path(name).as_posix())


def made_first(
    command: str, original: Path, target: Path, log: Path, devices: Devices, device: str, timeout: float
) -> str:
    """Run a program of the original that makes data or weights, and give what it made to the migrated copy too.

    Returns:
        What was done, in words.

    Raises:
        NpuifyError: it failed.
    """
    from npuify.process.command import command as resolved

    start = split(command)
    words, place = filled(start.words, device), original / start.folder
    inside = [str(place / words[0]), *words[1:]] if words and words[0].endswith(".py") else words
    before = set(files(original))
    hidden = {**own_modules(original), **({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {})}
    ran = run(resolved(inside, devices.python), place, log, shown=command, timeout=timeout, environment=hidden)
    if not ran.fine:
        raise NpuifyError(f"--prepare {ran.why()}", advice="; ".join(ran.tail()[-3:]))
    made = [path for path in files(original) if path not in before and "__pycache__" not in path.parts]
    for path in made:
        other = target / path.relative_to(original)
        if not other.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, other)
    return phrase(
        "{command} ran on {device} and created {files}, for both programs",
        command=command,
        device=device.upper(),
        files=counted(len(made), "file"),
    )
