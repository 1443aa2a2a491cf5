"""What lines of conda install: the rules for requirements, and what conda's own torch and TensorFlow become."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import structs

from npuify.knowledge.frameworks.variables import TENSORFLOW
from npuify.knowledge.tensorflow.lines import choose_adapter, newest_python
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import phrase
from npuify.model import Edit, Safety
from npuify.rules.common.paddle import lies_with_paddle, stands_without_torch
from npuify.rules.packages.command_lines.pip import for_workflow, leaving_something, place_in_line
from npuify.rules.packages.dependencies import judge
from npuify.rules.packages.dependency_file import DependencyFile
from npuify.rules.packages.replaced_uses import safety_of_leaving
from npuify.rules.packages.tensorflow_set import NAMES as TENSORFLOW_NAMES
from npuify.rules.packages.tensorflow_set import PARTS
from npuify.rules.packages.tensorflow_set import TENSORFLOW as TENSORFLOW_RULE
from npuify.rules.packages.torch_set import TORCH
from npuify.source.pip_command import conda_command
from npuify.source.requirements import Document, Spot
from npuify.source.requirements.conda import conda_entry
from npuify.source.shell import UNKNOWN
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile
    from npuify.source.requirements import Entry
    from npuify.source.shell import Command, Word

_OF_TORCH = re.compile(r"pytorch|pytorch-cuda|pytorch-gpu|pytorch-nightly|cudatoolkit|torchvision|torchaudio")
"""What conda installs together with its own torch."""
_CONDA_OPTIONS = frozenset(
    ("-n", "--name", "-p", "--prefix", "-c", "--channel", "--file", "-f", "--solver", "--platform")
)
"""Options of conda whose value is a word of its own."""


def _conda_packages(command: Command) -> list[Word]:
    """The words of a command of conda's that name packages."""
    return [
        word
        for before, word in zip(command.words[1:], command.words[2:], strict=False)
        if before.value not in _CONDA_OPTIONS
        and re.match(r"[\w.:/-]*\w", word.value)
        and not word.value.startswith("-")
        and word.value not in ("install", "create")
    ]


def _conda_entries(words: list[Word], text: str, start: int) -> list[Entry]:
    """What is required by ``words`` of the command that begins at ``start`` of its file and reads ``text``."""
    entries = []
    for word in words:
        first, last = word.start - start, word.end - start
        quotes = 1 if text[first : first + 1] in ("'", '"') else 0
        entry = conda_entry(text, first + quotes, last - quotes)
        if entry is not None and UNKNOWN not in word.value.partition("=")[0]:
            is_known = UNKNOWN not in word.value
            entries.append(
                entry._replace(
                    specifier=entry.specifier if is_known else None,
                    version_span=entry.version_span if is_known else None,
                    removal=Spot(first, last, ""),
                )
            )
    return entries


def _report_conda_torch(torch: Entry, shown: str, start: int, file: TextFile) -> None:
    release = file.release
    file.report(
        TORCH,
        (start + torch.start, start + torch.end),
        phrase(
            "conda has no torch-npu for {value}; torch-npu {torch_npu} is built for the torch {torch} that pip "
            "installs",
            value=shown,
            torch_npu=release.torch_npu,
            torch=release.torch,
        ),
        subject="torch",
        advice=phrase(
            "pip install torch=={torch} torch-npu=={torch_npu}, without any CUDA packages",
            torch=release.torch,
            torch_npu=release.torch_npu,
        ),
    )


def judge_conda_line(command: Command, data: bytes, file: TextFile) -> None:
    """Report what becomes of the packages that conda installs; its own torch is left to a person.

    Args:
        command: any command.
        data: the text in which it stands.
        file: gets the findings.
    """
    while command.name in ("sudo", "time", "exec") and len(command.words) > 1:
        command = command._replace(words=command.words[1:])
        while len(command.words) > 1 and command.words[0].value.startswith("-"):
            command = command._replace(words=command.words[1:])
    values = [word.value for word in command.words]
    if command.name not in ("conda", "mamba", "micromamba") or not {"install", "create"} & set(values[1:3]):
        return
    words = _conda_packages(command)
    found = conda_command(data, command.start, command.end, [(word.start, word.end) for word in words])
    text = found.text.decode("latin-1")
    entries = _conda_entries(words, text, command.start)
    is_for_tensorflow = file.framework == TENSORFLOW or any(entry.name in TENSORFLOW_NAMES for entry in entries)
    of_torch = [entry for entry in entries if _OF_TORCH.fullmatch(entry.name) and not is_for_tensorflow]
    torch = next(iter(of_torch), None)
    if torch is not None:
        shown = words[entries.index(torch)].value if len(words) == len(entries) else torch.name
        _report_conda_torch(torch, shown.replace(UNKNOWN, "…"), command.start, file)
    others = [entry for entry in entries if entry not in of_torch]
    if not others or (file.framework == "PaddlePaddle" and all(entry.name == "python" for entry in others)):
        return  # Paddle's plug-in has wheels of its own
    try:
        listed = Text(found.text)
    except UnreadableText:
        return
    requirements = DependencyFile(
        file.relative,
        listed,
        Document(text, others),
        file.release,
        file.run.vllm,
        # What pip installs behind conda's line tells of which framework its Python is.
        bool(file.run.project.on_tensorflow) or (b"tensorflow-cpu==" in data and b"torch" not in data),
        partial(safety_of_leaving, run=file.run),
        b"torch" in listed.data and lies_with_paddle(file.relative, file.run.project),
        b"python" in listed.data and stands_without_torch(file.relative, file.run.project),
    )
    placed = []
    line = file.run.tensorflow_around(file.relative)
    for finding in judge(requirements, line):
        one = place_in_line(finding, found, data, file)
        if finding.code == TENSORFLOW_RULE.code and finding.subject in TENSORFLOW_NAMES and not one.edits:
            one = _left_to_pip(one, command, entries, requirements, line, data, file)
        one = for_workflow(one, file)
        # Who writes the line anew for torch looks at the rest of it as well.
        placed.append(one if torch is None else structs.replace(one, edits=(), safety=Safety.MANUAL))
    for one in leaving_something(placed, found):
        file.add(one)


_BEFORE_ANOTHER = re.compile(rb"[ \t]*(?:$|\r?\n|;(?!;)|&&|\|\||\)|\}|#)")
"""What may follow a command behind which another one is put."""
_GAP = re.compile(rb"(?:[ \t]|\\\r?\n)+\Z")
_NAMED = ("-n", "--name", "-p", "--prefix")


def _left_to_pip(
    finding: Finding,
    command: Command,
    entries: Sequence[Entry],
    requirements: DependencyFile,
    line: str,
    data: bytes,
    file: TextFile,
) -> Finding:
    """conda's own TensorFlow is not the one that the adapter is for: pip installs that, in the same environment.

    Without edits where the adapter is not known, or where another command cannot be put behind this one.
    """
    builds = [one for one in entries if one.name in TENSORFLOW_NAMES]
    adapter = next((one for one in adapters() if one.line == line), None)
    adapter = adapter or choose_adapter(None, builds[0].specifier).adapter
    if adapter is None:
        return finding
    gone = [one for one in entries if one.name in TENSORFLOW_NAMES or one.name in PARTS]
    # What the other rules take out goes in a round of its own.
    creates = command.words[1].value == "create"
    pip = f"pip install {adapter.tensorflow}"
    environment = next(
        (
            file.source(word.start, word.end)
            for before, word in pairwise(command.words)
            if before.value in _NAMED and word.value
        ),
        "",
    )
    if environment:
        option = "-p" if any(word.value in _NAMED[2:] for word in command.words) else "-n"
        pip = f"{command.name} run {option} {environment} {pip}"
    elif creates or command.name == "micromamba":
        return finding
    start, end = command.words[0].start, command.words[-1].end
    edits: list[tuple[int, int, str]]
    if len(gone) == len(entries) and not creates:
        edits = [(start, end, pip)]
    else:
        before = data[data.rfind(b"\n", 0, start) + 1 : start]
        if command.pipe or command.is_redirected or b"sudo" in before or _BEFORE_ANOTHER.match(data, end) is None:
            return finding
        edits = []
        needs_python = creates and not requirements.named("python")
        for one in gone:
            first, last = command.start + one.start, command.start + one.end
            word = next(word for word in command.words if word.start <= first and last <= word.end)
            if needs_python:
                edits.append((word.start, word.end, f"python={newest_python(adapter)}"))
                needs_python = False
                continue
            gap = _GAP.search(data[: word.start])
            if gap is None:
                return finding
            edits.append((gap.start(), word.end, ""))
        # Removals that reach to the end of the command, and what is put there, become one edit.
        behind = f" && {pip}"
        if edits[-1][1] == end:
            edits[-1] = (edits[-1][0], end, edits[-1][2] + behind)
        else:
            edits.append((end, end, behind))
    if any(file.data[at:stop] != data[at:stop] for at, stop, _ in edits):
        return finding
    return structs.replace(
        finding,
        edits=tuple(Edit(at, stop, file.source(at, stop), after) for at, stop, after in edits),
        safety=TENSORFLOW_RULE.safety,
    )
