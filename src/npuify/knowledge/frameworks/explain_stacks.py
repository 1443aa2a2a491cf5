"""What the tables of stacks say of a library or of one of its options: ``npuify explain deepspeed``."""

from __future__ import annotations

from npuify.knowledge.frameworks.owners import frameworks
from npuify.knowledge.frameworks.stacks import stack_programs, stack_rows, stacks
from npuify.knowledge.third_party.members import lines_of_package
from npuify.language import commas, mark, phrase, semicolons
from npuify.model import Explanation

_SUPPORT = {
    "native": "knows the NPU by itself",
    "plugin": "runs on NPUs with a second package",
    "partial": "knows the NPU in part",
    "none": "does not know the NPU",
}


def explain_stack(what: str) -> Explanation | None:
    """What is known of a stack around PyTorch, by any of its names; None for others."""
    row = stacks().get(what.lower().replace("_", "-"))
    if row is None:
        return None
    since = phrase(", from version {since}", since=row.since) if row.since else ""
    lines = [phrase("{name} {support}{since}.", name=row.name, support=_SUPPORT[row.support], since=since)]
    for title, parts in (
        (mark("Set"), row.set),
        (mark("Changes"), row.changes),
        (mark("Stays"), row.stays),
        (mark("Refused"), row.refused),
    ):
        lines += [phrase("{title}: {part}", title=phrase(title), part=part) for part in parts]
    modules = dict.fromkeys(name.replace("-", "_") for name in row.names)
    lines += dict.fromkeys(line for module in modules for line in lines_of_package(module))
    own = frameworks().get(row.names[0])
    if own is not None:
        lines += [
            phrase("Its word for {cuda} is {word}.", cuda=cuda, word=word)
            for cuda, word in (("cuda", own.device), ("nccl", own.backend))
            if word
        ]
    return Explanation(what, "stack", tuple(lines), (), row.source, row.evidence)


def explain_stack_option(what: str) -> Explanation | None:
    """What becomes of an option of the stacks, ``--page-size``; None where no stack has it in the table."""
    name = what.removeprefix("--").replace("-", "_")
    rows = [row for program in stack_programs() for row in stack_rows(program.stack) if name in row.names]
    if not rows:
        return None
    text = []
    for row in rows:
        values = phrase(" with {values}", values=commas(row.values)) if row.values else ""
        done = {
            "set": phrase("becomes {value}", value=row.becomes),
            "add": phrase("{value} is written where it is not given", value=row.becomes),
            "remove": phrase("is taken out"),
        }.get(row.action) or phrase("told")
        said = semicolons(filter(None, (done, row.message, row.advice)))
        text.append(
            phrase("{stack}'s {option}{values}: {said}", stack=row.stack, option=what, values=values, said=said)
        )
    return Explanation(what, "option", tuple(text), (), rows[0].source, rows[0].evidence)
