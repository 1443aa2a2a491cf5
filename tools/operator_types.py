"""Reads which types operators take from the vendor's list of PyTorch's APIs, for `npuify trace`.

    python tools/operator_types.py FOLDER

FOLDER is one of the list's, such as docs/zh/api/native_api/pytorch_2-13-0 of Ascend/pytorch.

Only sentences are used that say which types the first argument of an API may have, and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

OUTPUT = Path(__file__).resolve().parent.parent / "src/npuify/trace/data/operator_types.json"
FILES = ("torch.md", "torch-Tensor.md", "torch-nn-functional.md", "torch-linalg.md", "torch-fft.md", "torch-special.md")
TYPES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
}
OPERATORS = {
    "conv1d": "convolution",
    "conv2d": "convolution",
    "conv3d": "convolution",
    "conv_transpose1d": "convolution",
    "conv_transpose2d": "convolution",
    "conv_transpose3d": "convolution",
    "batch_norm": "native_batch_norm",
    "layer_norm": "native_layer_norm",
    "group_norm": "native_group_norm",
    "softmax": "_softmax",
    "log_softmax": "_log_softmax",
    "nll_loss": "nll_loss_forward",
    "dropout": "native_dropout",
    "max_pool2d": "max_pool2d_with_indices",
    "max_pool3d": "max_pool3d_with_indices",
}
"""APIs whose ATen operator has another name."""

_HEADING = re.compile(r"^#{3,5} .*?((?:torch\.)[\w.]+)", re.MULTILINE)
_SENTENCE = re.compile(r"`(?:input|self|query|A|tensor)`[^`\n]{0,12}仅支持(?!输出)([^\n。；;]*)")
_TYPE = re.compile("|".join(sorted(TYPES, key=len, reverse=True)))
_ONLY_TYPES = re.compile(r"[\s,，、和或及]*")


def main(folder: Path) -> None:
    """Read the list and write the table."""
    found: dict[str, dict[str, object]] = {}
    for name in FILES:
        text = (folder / name).read_text(encoding="utf-8")
        headings = list(_HEADING.finditer(text))
        for heading, following in zip(headings, [*headings[1:], None], strict=True):
            section = text[heading.end() : following.start() if following else len(text)]
            types = types_of(section)
            if types:
                api = heading[1].rstrip(".")
                plain = api.rpartition(".")[2]
                operator = OPERATORS.get(plain, plain).rstrip("_")
                row = found.setdefault(operator, {"api": api, "types": set()})
                row["types"] |= types  # type: ignore[operator]
    lines = [
        f"{json.dumps(name)}: {json.dumps([row['api'], ' '.join(sorted(row['types']))])}"  # type: ignore[call-overload]
        for name, row in sorted(found.items())
    ]
    source = json.dumps(f"Ascend/pytorch docs/zh/api/native_api/{folder.name}")
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(f'{{"source": {source},\n"operators": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(found)} operators")


def types_of(section: str) -> set[str]:
    """The types that the first argument may have; empty where that is not said, or said with conditions."""
    match = _SENTENCE.search(section)
    if match is None:
        return set()
    listed = match[1].split("，并")[0]
    if not _ONLY_TYPES.fullmatch(_TYPE.sub("", listed)):
        return set()
    return {TYPES[name] for name in _TYPE.findall(listed)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
