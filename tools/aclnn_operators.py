"""Reads which operators of PyTorch call which of CANN's, for `npuify explain aclnnAdd`.

    python tools/aclnn_operators.py FOLDER COMMIT TORCH_NPU

FOLDER is a checkout of Ascend/op-plugin, COMMIT what it is of, and TORCH_NPU a checkout of Ascend/pytorch, which copies
itself. Only names are kept: of the operators that their lists give to torch_npu, and of the interfaces (aclnnAdd) and
operator types (Add) that their sources call, by themselves or by functions of their own file.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

OUTPUT = Path(__file__).resolve().parent.parent / "src/npuify/knowledge/data/aclnn.json"
_OPERATOR = re.compile(r"^  - func: (?P<name>\w+)(?:\.(?P<overload>\w+))?\(", re.MULTILINE)
_GENERATED = re.compile(r"^      exec: (?P<call>aclnn\w+)", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?!(?:namespace|using|return|if|for|else|typedef|#|//|struct|class|enum)\b)\w[\w:<>&*,\s]*?\b(?P<name>\w+)\(",
    re.MULTILINE,
)
_CALLS = {"aclnn": re.compile(r"\bEXEC_\w*CMD\w*\(\s*(aclnn\w+)"), "type": re.compile(r"\.Name\(\s*\"(\w+)\"")}
_WORD = re.compile(r"\b(\w+)\(")


def main() -> None:
    """Write the table."""
    folder, commit = Path(sys.argv[1]), sys.argv[2]
    listed = (folder / "op_plugin/config/op_plugin_functions.yaml").read_text(encoding="utf-8")
    custom = listed.find("\ncustom:")
    operators: dict[str, bool] = {}
    found: dict[str, dict[str, set[str]]] = {"aclnn": defaultdict(set), "type": defaultdict(set)}
    entries = list(_OPERATOR.finditer(listed))
    for entry, following in zip(entries, [*entries[1:], None], strict=False):
        name = entry["name"]
        operators.setdefault(name, entry.start() > custom)
        body = listed[entry.end() : following.start() if following else len(listed)]
        for call in _GENERATED.finditer(body):
            found["aclnn"][call["call"]].add(name)
    own = Path(sys.argv[3]) / "torch_npu/csrc/aten/npu_native_functions.yaml"
    for name in re.findall(r"^  - (?:func: )?(\w+)", own.read_text(encoding="utf-8"), re.MULTILINE):
        operators.setdefault(name, False)
    sources = (
        ("aclnn", folder / "op_plugin/ops/opapi"),
        ("type", folder / "op_plugin/ops/aclops"),
        ("aclnn", Path(sys.argv[3]) / "torch_npu/csrc/aten"),
    )
    for kind, source in sources:
        for name, calls in _reached(source, _CALLS[kind]).items():
            base = name.removesuffix("_out")
            operator = next((one for one in (name, base, f"_{base}", f"_npu_{base}") if one in operators), None)
            for call in calls if operator is not None else ():
                found[kind][call].add(operator)
    table = {
        "repository": "Ascend/op-plugin",
        "commit": commit,
        **{
            kind: {
                call: sorted(f"torch_npu.{name}" if operators[name] else name for name in names)
                for call, names in sorted(rows.items())
            }
            for kind, rows in found.items()
        },
    }
    OUTPUT.write_text(json.dumps(table, indent=0, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8")
    print(len(table["aclnn"]), "interfaces,", len(table["type"]), "types")


def _reached(folder: Path, calls: re.Pattern[str]) -> dict[str, set[str]]:
    """What each function of a folder's sources calls, by itself and by the functions of the same file."""
    reached: dict[str, set[str]] = defaultdict(set)
    for file in sorted(folder.rglob("*.cpp")):
        text = file.read_text(encoding="utf-8", errors="replace")
        heads = [one for one in _FUNCTION.finditer(text) if "{" in text[one.end() : text.find(";", one.end())]]
        bodies: dict[str, str] = defaultdict(str)
        for head, following in zip(heads, [*heads[1:], None], strict=False):
            bodies[head["name"]] += text[head.end() : following.start() if following else len(text)]
        own = {name: set(calls.findall(body)) for name, body in bodies.items()}
        names = {name: set(_WORD.findall(body)) & set(bodies) - {name} for name, body in bodies.items()}
        for name in bodies:
            seen, left = {name}, [name]
            while left:
                for one in names[left.pop()] - seen:
                    seen.add(one)
                    left.append(one)
            reached[name] |= set().union(*(own[one] for one in seen))
    return reached


if __name__ == "__main__":
    main()
