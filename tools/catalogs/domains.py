"""Which catalog holds the texts of which file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "npuify"
CATALOGS = PACKAGE / "language" / "zh_CN" / "LC_MESSAGES"


class StillEnglish(NamedTuple):
    """What is not translated yet."""

    rooms: tuple[str, ...]
    """Folders that have no catalog."""
    catalogs: tuple[str, ...]
    """Catalogs with gaps."""
    glued: tuple[str, ...]
    """Where sentences are put together by code."""


STILL_ENGLISH = StillEnglish(
    rooms=(),
    catalogs=(),
    glued=(),
)
# What a program meets on a simulated card is in the words of the real one, which are English.
_NO_TEXTS = (
    "scaffold/templates",
    "handover/scripts",
    "launch/templates",
    "distribute/runtime",
    "helpers",
    *(
        f"simulator/{part}"
        for part in (
            *("api", "operators", "optimizers", "contrib", "native", "without_compiler"),
            *("tensorflow/inside", "tensorflow/hub.py", "dispatch", "communicators.py", "data_parallel.py"),
            *("device/engine.py", "finder.py", "package.py", "patches.py", "settings.py", "state.py"),
            *("tables.py", "transfer.py"),
        )
    ),
    "selftest/inside",
    "selftest/areas/form_rows.py",
    "language",
)
_SCRIPTS = ("launch/templates", "scripts/templates", "handover/scripts", "scaffold/templates")
"""Folders of scripts and files of settings whose comments are texts."""
COMMENTED = (".sh", ".yaml", ".txt")
_OF_TABLES = {
    "causes": "failures",
    "errors": "failures",
    "exceptions": "failures",
    "failures": "failures",
    "names": "names",
    "packages": "packages",
    "dependencies": "packages",
    "environment": "variables",
    "settings": "variables",
}


def domain_of(path: Path) -> str:
    """The name of the catalog for the texts of a file; empty where it has none."""
    relative = path.relative_to(PACKAGE).as_posix()
    if path.suffix in COMMENTED:
        return relative.partition("/")[0] if relative.startswith(_SCRIPTS) else ""
    if relative.startswith(_NO_TEXTS) or relative.startswith(STILL_ENGLISH.rooms):
        return ""
    parts = relative.split("/")
    if path.suffix == ".toml":
        if parts[:2] != ["knowledge", "data"]:
            return ""
        folder = parts[2] if len(parts) > 3 else ""
        return f"facts-{folder or _OF_TABLES.get(path.stem, 'others')}"
    if parts[0] == "rules":
        return f"rules-{parts[1]}" if len(parts) > 2 else "rules"
    return parts[0] if len(parts) > 1 else "root"


CODE = {
    "helpers": "code-helpers",
    "distribute/runtime": "code-distribute",
    "launch/templates": "code-launch",
    "handover/scripts": "code-handover",
    "scaffold/templates": "code-scaffold",
}
"""Folders of code that is written into projects, whose comments are texts, and their catalogs."""
_ENGLISH_CODE = ("helpers/__init__.py", "helpers/compute_device.py", "helpers/replacements/")
"""What of it is no code that is written, or stays in English: what takes the place of kernels is mathematics."""


def code_with_texts() -> list[tuple[Path, str]]:
    """Modules that are written into projects, each with the name of its catalog."""
    found = []
    for folder, domain in CODE.items():
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if not path.relative_to(PACKAGE).as_posix().startswith(_ENGLISH_CODE):
                found.append((path, domain))
    return found


def files_with_texts() -> list[Path]:
    """All files that have texts, in order."""
    found = [
        *PACKAGE.rglob("*.py"),
        *PACKAGE.rglob("*.toml"),
        *(path for kind in COMMENTED for path in PACKAGE.rglob(f"*{kind}")),
    ]
    return sorted(path for path in found if domain_of(path))
