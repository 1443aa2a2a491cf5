"""What files of settings say that a program reads by name: hydra's configuration, and YAML or JSON that is loaded."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING, Any, Final

from npuify.analysis.files import DEFINITIONS
from npuify.rules.common.defaults.options import Known, text_of
from npuify.source.settings import UnreadableSettings, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.rules.context import PythonFile

_LOADING: Final = frozenset(
    ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "omegaconf.OmegaConf.load", "OmegaConf.load")
)
_LARGEST: Final = 1_000_000
_WORDS: Final[Mapping[str, object]] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", "none", ""), None),
}
_Values = dict[tuple[str, ...], Any]


def default_of_setting(node: ast.expr, file: PythonFile) -> Known | None:
    """What ``cfg.train.amp`` or ``cfg["train"]["amp"]`` is by the file that ``cfg`` is read from; None: not known."""
    path: list[str] = []
    root = node
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        name = root.attr if isinstance(root, ast.Attribute) else text_of(root.slice)
        if not name:
            return None
        path.insert(0, name)
        root = root.value
    if not path or not isinstance(root, ast.Name):
        return None
    values = _settings_of(root, file)
    if values is None or tuple(path) not in values:
        return None
    value = values[tuple(path)]
    return Known(value, f"{'.'.join(path)}={not value}" if isinstance(value, bool) else f"{'.'.join(path)}=…")


def _settings_of(root: ast.Name, file: PythonFile) -> _Values | None:
    bound = file.assigned(root)
    if len(bound) != 1:
        return None
    call = bound[0]
    if call is None:
        return _of_hydra(root, file)
    if not isinstance(call, ast.Call) or file.qualname(call.func) not in _LOADING or not call.args:
        return None
    names = [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant) and _is_settings(one.value)]
    return _read(str(names[0]), file, ()) if len(names) == 1 else None


def _is_settings(value: object) -> bool:
    return isinstance(value, str) and value.endswith((".yaml", ".yml", ".json"))


def _of_hydra(root: ast.Name, file: PythonFile) -> _Values | None:
    """The settings that hydra hands to the function that it starts."""
    function = next((up for up in file.ancestors(root) if isinstance(up, DEFINITIONS)), None)
    if function is None or not function.args.args or function.args.args[0].arg != root.id:
        return None
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or file.qualname(decorator.func) != "hydra.main":
            continue
        given = {one.arg: text_of(one.value) for one in decorator.keywords}
        given.update(zip(("config_path", "config_name"), map(text_of, decorator.args), strict=False))
        folder, name = given.get("config_path", ""), given.get("config_name", "").removesuffix(".yaml")
        return _with_groups(folder, name, file) if name else None
    return None


def _with_groups(folder: str, name: str, file: PythonFile) -> _Values | None:
    """A file of settings, and those that its list of defaults names, each below the name of its group."""
    own = _read(posixpath.join(folder, f"{name}.yaml"), file, ())
    if own is None:
        return None
    values: _Values = {}
    for path, value in own.items():
        if path[:2] == ("defaults", "#") and len(path) == 3 and isinstance(value, str):
            group = path[2].rpartition("@")[0] or path[2].removeprefix("override ")
            values.update(_read(posixpath.join(folder, group, f"{value}.yaml"), file, (group,)) or {})
    return {**values, **own}


def _read(name: str, file: PythonFile, below: tuple[str, ...]) -> _Values | None:
    """A file of settings, named from the folder of the program or from the project's root."""
    for base in (posixpath.dirname(file.source.relative), ""):
        relative = posixpath.normpath(posixpath.join(base, name))
        if relative.startswith(("..", "/")):
            continue
        key = ("settings", relative)
        if key not in file.project.remembered:
            file.project.remembered[key] = dict(_values(file.project.root / relative, relative))
        file.project.dependencies.add(relative)
        known: _Values = file.project.remembered[key]
        if known:
            return {(*below, *path): value for path, value in known.items()}
    return None


def _values(path: Any, relative: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    try:
        data = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
        document = read("json" if relative.endswith(".json") else "yaml", data)
    except (OSError, UnreadableSettings):
        return
    for one in document.values:
        yield one.path, one.text if one.quote else _meant(one.text)


def _meant(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
