"""What the dispatcher does with an operator on an NPU tensor, and the schemas of the package's own operators."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

_HOW = {
    "kernel": "kernel",
    "backend fallback": "fallback",
    "math kernel": "composite",
    "default backend kernel": "default",
}
"""What the dispatcher's table says of an entry → the word for it here."""
_OWN_NAMESPACES = ("npu", "npu_custom_dist", "atb")
_KEYS_OF_OWN_KERNELS = ("AutogradPrivateUse1", "AutocastPrivateUse1", "SparsePrivateUse1", "SparseCsrPrivateUse1")


def collect() -> dict[str, Any]:
    """Operators of ATen by what serves them, and operators of torch_npu with their schemas.

    ``kernel``: torch_npu registers one for the NPU. ``fallback``: none, and the tensors are taken to the CPU and back;
    that is also said of a form that torch makes of an out= form which falls back. ``composite``: made of other
    operators,
    whatever the device. ``default``: torch has a form for every device that leads to other operators. ``none``: raises.
    ``keys``: what torch_npu registers for autograd, autocast and sparse tensors.
    """
    import torch
    import torch_npu  # noqa: F401 - registers what is asked for

    native = torch._C
    schemas = {_full_name(schema): schema for schema in native._jit_get_all_schemas()}
    tables = {
        full: native._dispatch_dump_table(full)
        for full in native._dispatch_get_all_op_names()
        if full.startswith("aten::") and full in schemas
    }
    how = {full: _how(table) for full, table in tables.items()}
    outs = _out_forms(schemas)
    served: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    keys: dict[str, list[str]] = {key: [] for key in _KEYS_OF_OWN_KERNELS}
    for full in sorted(tables):
        answer = how[full]
        if answer == "default" and "CompositeExplicitAutogradNonFunctional" in _line(tables[full]):
            answer = "fallback" if how.get(outs.get(full, "")) == "fallback" else answer
        name, _, overload = full.removeprefix("aten::").partition(".")
        served[answer][name].append(overload or "-")
        registered = native._dispatch_dump(full)
        for key in keys:
            if re.search(rf"^{key}: registered at \S*torch_npu", registered, re.MULTILINE):
                keys[key].append(full.removeprefix("aten::"))
    own: dict[str, list[str]] = defaultdict(list)
    for full, schema in schemas.items():
        if full.partition("::")[0] in _OWN_NAMESPACES:
            own[schema.name].append(str(schema).removeprefix(schema.name))
    return {
        "operators": {word: {name: " ".join(sorted(o)) for name, o in names.items()} for word, names in served.items()},
        "keys": keys,
        "schemas": {name: sorted(texts) for name, texts in own.items()},
    }


def _full_name(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _line(table: str) -> str:
    found = re.search(r"^PrivateUse1: .*$", table, re.MULTILINE)
    return found.group() if found else ""


def _how(table: str) -> str:
    found = re.search(r"\[([a-z ]+)\]$", _line(table))
    return _HOW.get(found.group(1), found.group(1)) if found else "none"


def _out_forms(schemas: dict[str, Any]) -> dict[str, str]:
    """Functional or in-place form → the form with ``out=`` that takes the same arguments."""

    def arguments(schema: Any) -> tuple[str, ...]:
        return tuple(str(argument.type) + argument.name for argument in schema.arguments if not argument.is_out)

    with_out = {
        (schema.name, arguments(schema)): full
        for full, schema in schemas.items()
        if any(argument.is_out for argument in schema.arguments)
    }
    found = {}
    for full, schema in schemas.items():
        base = schema.name[:-1] if schema.name.endswith("_") and not schema.name.endswith("__") else schema.name
        out = with_out.get((base, arguments(schema)))
        if out is not None and out != full:
            found[full] = out
    return found
