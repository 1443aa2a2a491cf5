"""Writes a training project from the templates beside this file."""

from __future__ import annotations

import keyword
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.knowledge.release.versions import choose_release, release_info
from npuify.language import commas, phrase, spoken
from npuify.language.code import code_in_language
from npuify.model import NpuifyError
from npuify.scripts.template import in_language

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_CHINESE: Final = ".zh.md"
"""How the name of a document ends that takes the place of the English one."""
TEMPLATES: Final = Path(__file__).resolve().parent / "templates"
STYLES: Final = ("npu", "portable")
FRAMEWORKS: Final = ("pytorch", "tensorflow")
PACKAGE: Final = "training_project"
"""The package's name in the templates, which are a working project under that name."""
_PROGRAMS: Final = {".sh"}
_TAKEN: Final = {
    "tensorflow",
    "npu_device",
    "torch",
    "torch_npu",
    "yaml",
    "numpy",
    "npuify",
    "tests",
    "train",
    "configs",
    "scripts",
}
_LONGEST_NAME: Final = 40


def scaffold_training(
    destination: Path,
    *,
    style: str = "npu",
    name: str = "",
    torch_npu: str | None = None,
    force: bool = False,
    framework: str = "pytorch",
) -> tuple[str, ...]:
    """Write a training project.

    Args:
        destination: a folder that does not exist or is empty.
        style: ``npu`` (NPU, and the CPU where there is none) or ``portable`` (NPU, CUDA and CPU).
        name: of the project; None takes the folder's. The package's name follows from it.
        torch_npu: the release whose set of versions is required; None takes the newest stable one.
        force: replace a destination that is not empty.
        framework: ``pytorch``, or ``tensorflow``, which is 2.6.5, runs on NPUs and the CPU and has one style.

    Returns:
        The files written, relative to ``destination``, sorted.

    Raises:
        NpuifyError: there is no such style or release, the name makes no package, or the destination is refused.
    """
    from npuify.rewrite.tree import write_tree

    if style not in STYLES:
        raise NpuifyError(
            phrase("there is no style {style!r} for a new project", style=style),
            advice=phrase("one of {STYLES}", STYLES=commas(STYLES)),
        )
    if framework not in FRAMEWORKS:
        raise NpuifyError(
            phrase("there is no new project for {framework!r}", framework=framework),
            advice=phrase("one of {FRAMEWORKS}", FRAMEWORKS=commas(FRAMEWORKS)),
        )
    if framework == "tensorflow" and style != "npu":
        raise NpuifyError(
            "a new project for TensorFlow has one style", advice="leave --style out: it runs on NPUs and the CPU"
        )
    project = name or destination.absolute().name
    package = package_name(project)
    values = _values(project, style, torch_npu)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        files = []
        for relative, source in _templates(style) if framework == "pytorch" else _files_below("tensorflow"):
            target = root / relative.replace(PACKAGE, package)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8")
            if source.suffix in (".sh", ".yaml", ".txt"):
                text = in_language(text)
            elif source.suffix == ".py":
                text = code_in_language(text)
            text = text.replace(PACKAGE, package)
            # Braces of the templates' own code never stand doubled around one of these names.
            for key, value in values.items():
                text = text.replace("{{" + key + "}}", value)
            target.write_text(text, encoding="utf-8", newline="\n")
            target.chmod(0o755 if target.suffix in _PROGRAMS else 0o644)
            files.append(target.relative_to(root).as_posix())
        write_tree(root, destination, {}, {}, force=force)
    return tuple(sorted(files))


def package_name(project: str) -> str:
    """The name of the package of a project: ``my-model`` has ``my_model``.

    Raises:
        NpuifyError: none can be made, or it would hide another module.
    """
    made = re.sub(r"[-. ]+", "_", project.strip()).lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", made) or keyword.iskeyword(made) or len(made) > _LONGEST_NAME:
        raise NpuifyError(
            phrase("{project!r} makes no name of a Python package", project=project),
            advice="choose one with --name, such as my-model",
        )
    if made in _TAKEN or made in sys.stdlib_module_names:
        raise NpuifyError(
            phrase("a package named {made} would hide another one", made=made), advice="choose another name with --name"
        )
    return made


def _templates(style: str) -> Iterator[tuple[str, Path]]:
    """The files of a style: path in the project, and template."""
    yield from _files_below("training")
    for path in sorted((TEMPLATES / "styles" / style).iterdir()):
        if path.is_file():
            yield (f"{PACKAGE}/{path.name}" if path.suffix == ".py" else path.name), path


def _files_below(name: str) -> Iterator[tuple[str, Path]]:
    folder = TEMPLATES / name
    for path in sorted(folder.rglob("*")):
        # An installed npuify may have been byte-compiled.
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(_IN_CHINESE):
            own = path.with_name(path.stem + _IN_CHINESE)
            yield path.relative_to(folder).as_posix(), own if spoken() == "zh" and own.is_file() else path


def _values(project: str, style: str, torch_npu: str | None) -> dict[str, str]:
    release = choose_release(torch_npu, None)
    pythons = release_info(release.torch_npu).pythons
    portable = style == "portable"
    return {
        "project": project,
        "for": phrase("NPUs, GPUs and the CPU") if portable else phrase("NPUs, and the CPU where there is none"),
        "more_requirements": phrase("                         # on an NPU: -r requirements-npu.txt")
        if portable
        else "",
        "torch": release.torch,
        "torch_npu": release.torch_npu,
        "cann": release.cann or phrase("as torch_npu's own page says"),
        "pythons": f"{pythons[0]} to {pythons[-1]}",
    }
