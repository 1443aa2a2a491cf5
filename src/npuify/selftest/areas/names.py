"""Every public name of the release, what it is and what it takes; and torch_npu's own operators with their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.questions.names import plain_schema, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.knowledge.schema import Signature
    from npuify.model import Evidence

_KINDS = {
    "module": "module",
    "class": "class",
    "tensor type": "class",
    "function": "callable",
    "method": "callable",
    "property": "value",
    "value": "value",
}


def _takes(signature: Signature) -> list[str] | None:
    """Its parameters; None where they are not known, or anything is taken."""
    text = signature.text[1:-1]
    if signature.parameters is None or text == "*args,**kwargs" or ")" in text.replace("()", ""):
        return None
    return spelled(text)


def _raising(table: ReleaseTable, module: str, name: str, known: Evidence) -> Check:
    """That a name which the module says it exports is not to be had."""
    return Check(
        id=f"names/{module}.{name}",
        claim=phrase(
            "torch_npu {torch_npu} exports {name}, and raises when asked for it",
            torch_npu=table.torch_npu,
            name=f"{module}.{name}",
        ),
        subject=f"{module}.{name}",
        evidence=known,
        source=f"torch-npu {table.torch_npu}",
        function="names:shape",
        arguments={"module": module, "name": name, "kind": True, "takes": False, "method": False},
        expected={"kind": "none"},
        cards=0,
        group="names",
    )


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each public name of the modules of torch_npu, and for each of its operators."""
    evidence = {name: table.evidence(name) for name in table.content.npu}
    live = table.live.names if table.live is not None else {}
    for module in sorted({*table.content.npu, *live}):
        known = evidence.get(module) or table.evidence(module)
        for name in sorted({*table.content.npu.get(module, {}), *live.get(module, {})}):
            full = f"{module}.{name}"
            if any(part.startswith("_") for part in full.split(".")[1:]):
                continue
            if live.get(module, {}).get(name, "").startswith("!"):
                yield _raising(table, module, name, known)
                continue
            if live.get(module, {}).get(name) == "o":
                continue  # an operator; see below
            signature = table.signature(full)
            if signature is None:
                yield Unchecked(
                    "names", full, phrase("the tables read from files have it, the imported package has not")
                )
                continue
            is_value = signature.kind in ("property", "value")
            if is_value and "." in name and table.live is not None and name not in live.get(module, {}):
                yield Unchecked("names", full, phrase("instances have it, not the class"))
                continue
            takes = _takes(signature)
            # What a member is without being called, and a variable, is said by no signature.
            has_kind = not is_value and not ("." in name and signature.parameters is None)
            expected: dict[str, object] = {"kind": _KINDS[signature.kind] if has_kind else "there"}
            if takes is not None:
                expected["takes"] = takes
            yield Check(
                id=f"names/{full}",
                claim=phrase("torch_npu {torch_npu} has {name}", torch_npu=table.torch_npu, name=full),
                subject=full,
                evidence=known,
                source=f"torch-npu {table.torch_npu}",
                function="names:shape",
                arguments={
                    "module": module,
                    "name": name,
                    "kind": has_kind,
                    "takes": takes is not None,
                    "method": signature.kind == "method",
                },
                expected=expected,
                cards=0,
                group="names",
                quick=module in ("torch_npu", "torch_npu.npu"),
            )
    for operator, schemas in sorted(table.custom_operators.items()):
        yield Check(
            id=f"names/npu::{operator}",
            claim=phrase("torch_npu {torch_npu} has {name}", torch_npu=table.torch_npu, name=f"npu::{operator}"),
            subject=f"torch_npu.{operator}",
            evidence=table.evidence(f"torch.ops.npu.{operator}"),
            source=f"torch-npu {table.torch_npu}",
            function="names:schemas",
            arguments={"name": operator},
            expected=sorted(map(plain_schema, schemas)),
            cards=0,
            group="names",
            quick=True,
        )
