"""Build the site with MkDocs: English, and the other languages below folders of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tools.site.languages import ENGLISH, LANGUAGES, in_language
from tools.site.tree import ROOT, write_tree

if TYPE_CHECKING:
    from tools.site.languages import SiteLanguage

SETTINGS = ROOT / "mkdocs.yml"


def build(destination: Path) -> None:
    """Build the whole site into ``destination``, which is replaced when all of it stands.

    Raises:
        SystemExit: MkDocs found a dead link, a page that no menu names, or another fault.
    """
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "site"
        for language in LANGUAGES:
            build_language(language, Path(scratch) / language.name, made / language.folder)
        if destination.exists():
            shutil.rmtree(destination)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, destination)


def build_language(language: SiteLanguage, sources: Path, destination: Path) -> None:
    """Build one language of the site; ``sources`` is where its pages are put together."""
    sources.mkdir(parents=True)
    write_tree(sources / "docs", language)
    settings = sources / "mkdocs.yml"
    settings.write_text(yaml.safe_dump(_settings(language, sources, destination), allow_unicode=True), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(settings)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if ended.returncode:
        sys.exit(f"{language.title}: {ended.stdout}{ended.stderr}")


def _settings(language: SiteLanguage, sources: Path, destination: Path) -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))
    settings |= {"docs_dir": str(sources / "docs"), "site_dir": str(destination)}
    settings["theme"]["language"] = language.theme
    up = "../" if language.folder else ""
    settings["extra"]["alternate"] = [
        {"name": one.title, "link": f"{up}{one.folder}/" if one.folder else up or "./", "lang": one.theme}
        for one in LANGUAGES
    ]
    settings["nav"] = _menu(settings["nav"], language)
    return settings


def _menu(entries: Any, language: SiteLanguage) -> Any:
    """The menu: its titles in ``language``; a page without one goes by its heading."""
    if isinstance(entries, str) or language is ENGLISH:
        return entries
    if isinstance(entries, dict):
        return {in_language(title, language): _menu(below, language) for title, below in entries.items()}
    return [_menu(entry, language) for entry in entries]


def _environment() -> dict[str, str]:
    """Without what the theme says of MkDocs' plans in each build."""
    return {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
