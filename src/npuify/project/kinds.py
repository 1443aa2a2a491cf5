"""Which kind of file a name stands for."""

from __future__ import annotations

from typing import Final

_BY_SUFFIX: Final = {
    ".py": "python",
    ".pyw": "python",
    ".pyi": "stub",
    ".pyx": "cython",
    ".pxd": "cython",
    ".ipynb": "notebook",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".ksh": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".pbs": "shell",
    ".lsf": "shell",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonc": "json",
    ".toml": "toml",
    ".ini": "ini",
    ".cfg": "ini",
    ".conf": "ini",
    ".properties": "ini",
    ".gin": "ini",
    ".env": "env",
    ".service": "unit",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".c": "native",
    ".cc": "native",
    ".cpp": "native",
    ".cxx": "native",
    ".h": "native",
    ".hh": "native",
    ".hpp": "native",
    ".cmake": "cmake",
    ".mk": "make",
    ".just": "just",
    ".dockerfile": "docker",
    ".md": "text",
    ".rst": "text",
    ".txt": "text",
    ".lock": "lock",
}

_BY_NAME: Final = {
    "dockerfile": "docker",
    "containerfile": "docker",
    "makefile": "make",
    "gnumakefile": "make",
    "cmakelists.txt": "cmake",
    "justfile": "just",
    ".justfile": "just",
    "pipfile": "toml",
    "config.pbtxt": "pbtxt",
    ".deepspeed_env": "env",
    ".env": "env",
    ".envrc": "shell",
    "license": "text",
    "notice": "text",
    "authors": "text",
    "copying": "text",
    "codeowners": "text",
}


MAY_BE_SCRIPTS: Final = (".sub", ".job", ".qsub", ".sbat", ".bsub")
"""Endings of the names of jobs for a batch system, which are scripts where their first line says so."""
_OF_TEMPLATES: Final = ("j2", "jinja", "jinja2", "mako", "tmpl", "tpl", "template", "in")
_TEMPLATES: Final = tuple(f".{code}.{end}" for code in ("py", "sh", "bash") for end in _OF_TEMPLATES)
"""Endings of the names of files from which programs and scripts are made."""
_NO_DOCKERFILES: Final = (".md", ".txt", ".rst")
_DOCKERFILES: Final = tuple(f"{name}{mark}" for name in ("dockerfile", "containerfile") for mark in "._-")


def kind_of(name: str) -> str:
    """The kind of the file called ``name`` (its last path component): ``"python"``, ``"shell"``, …, else ``"other"``.

    Only the name is looked at; ``find_files`` also reads the first line of executable files that have no suffix, and of
    those whose names end as ``MAY_BE_SCRIPTS`` says.
    """
    dot = name.rfind(".")
    kind = _BY_SUFFIX.get(name[dot:]) if dot > 0 else None
    if kind is not None and kind != "text":
        return kind
    lower = name.lower()
    if lower in _BY_NAME:
        return _BY_NAME[lower]
    if lower.endswith(_TEMPLATES):
        return "template"
    if lower.startswith(_DOCKERFILES) and not lower.endswith(_NO_DOCKERFILES):
        return "docker"
    if lower.startswith(".env."):
        return "env"
    if lower.startswith("makefile.") and not lower.endswith((*_NO_DOCKERFILES, ".am", ".in")):
        return "make"
    if kind == "text":
        return "requirements" if _is_requirements(lower) else "text"
    return _BY_SUFFIX.get(lower[dot:], "other") if dot > 0 else "other"


def kind_of_path(relative: str) -> str:
    """As :func:`kind_of`, of a path with forward slashes: a text file in a folder ``requirements`` is one of them."""
    folder, _, name = relative.rpartition("/")
    kind = kind_of(name)
    if kind == "text" and name.endswith(".txt") and folder.rpartition("/")[2].lower() == "requirements":
        return "requirements"
    return kind


def kind_of_shebang(first_line: bytes) -> str:
    """The kind that a ``#!`` line names, or ``"other"``."""
    if not first_line.startswith(b"#!"):
        return "other"
    words = first_line[2:].split()
    if words and words[0].endswith(b"/env"):
        words = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
    program = words[0].rsplit(b"/", 1)[-1] if words else b""
    if program.startswith((b"python", b"pypy")):
        return "python"
    if program in {b"sh", b"bash", b"zsh", b"ksh", b"dash"}:
        return "shell"
    return "other"


def _is_requirements(lower: str) -> bool:
    return lower.endswith(".txt") and ("requirements" in lower or "constraints" in lower)
