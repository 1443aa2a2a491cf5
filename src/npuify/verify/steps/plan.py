"""What is run: the program that trains, how it goes on from a checkpoint, and how it is started on several cards."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase, semicolons
from npuify.model import NpuifyError

from .start import in_a_line, moved, needed, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from npuify.model import EntryPoint

    from .start import Start

_TRAINING: Final = re.compile(r"(^|[/_-])(train|finetune|fine_tune|pretrain|run|main)", re.IGNORECASE)
_DISTRIBUTED: Final = re.compile(r"DistributedDataParallel|init_process_group|FullyShardedDataParallel")
_RESUME: Final = re.compile(r"""add_argument\(\s*["'](--resume(?:[-_]from(?:[-_]checkpoint)?)?|--checkpoint)["']""")
_OWN_INPUT: Final = re.compile(
    r"""add_argument\(\s*(?:["']-\w["']\s*,\s*)?["'](--(?:use[-_])?(?:dummy|fake|synthetic|mock|random)(?:[-_](?:data|input|inputs|dataset))?)["']"""
    r"""(?=[^()]*store_true)"""
)
_CUDA_BY_DEFAULT: Final = re.compile(
    r"""add_argument\(\s*(?:["']-\w["']\s*,\s*)?["'](--(?:[\w-]+[-_])?device)["'][^()]*?default\s*=\s*["']cuda"""
)
_LENGTH: Final = re.compile(r"(^|[-_.])(epochs?|steps|iters|iterations|updates)$", re.IGNORECASE)
_CHECKPOINT: Final = re.compile(r"\.(pt|pth|ckpt|bin|safetensors|tar)$")
_LAUNCHERS: Final = ("torchrun", "torch_npu_run", "accelerate", "deepspeed")
_LARGEST: Final = 1 << 20
WORDS: Final = {
    "cpu": {"device": "cpu", "backend": "gloo"},
    "cuda": {"device": "cuda", "backend": "nccl"},
    "npu": {"device": "npu", "backend": "hccl"},
}
"""What {device} and {backend} in a command stand for."""


@dataclass(frozen=True)
class Plan:
    """Commands, with {device} and {backend} still in them; an empty one is not known."""

    entry: tuple[str, ...]
    reference_entry: tuple[str, ...]
    resume: tuple[str, ...]
    cards: tuple[str, ...]
    why_no_cards: str = ""
    guessed: tuple[str, ...] = ()
    """What was chosen without being asked for, in words."""
    cards_guessed: bool = False
    """Whether the command for several cards was put together here."""
    folder: str = ""
    """Where all of them are started, relative to the project's folder; empty: there."""


def make_plan(
    project: Path,
    points: Sequence[EntryPoint],
    *,
    entry: str = "",
    reference_entry: str = "",
    resume: str = "",
    cards: str = "",
    count: int = 2,
    migrated: Path | None = None,
    short: bool = False,
) -> Plan:
    """What was asked for, and for what was not: what the project itself says.

    Args:
        points: the project's entry points, the best attested first.
        count: cards to start on.
        migrated: the migrated copy, which may have programs of its own.
        short: nothing is started on several cards.

    Raises:
        NpuifyError: nothing is named, and the project does not say which of its programs trains.
    """
    guessed: list[str] = []
    given = {text: split(text) for text in (entry, reference_entry, resume, cards) if text}
    folder = _folder(project, migrated, given)
    words = given[entry].words if entry else _entry(project, points, guessed)
    asked = {text: one.words for text, one in given.items()}
    if not folder and all(_is_of(project, one) for one in asked.values()):
        folder, names = needed(project, words)
        if folder:
            words, asked = moved(words, folder), {text: moved(one, folder) for text, one in asked.items()}
            guessed.append(
                phrase("started in {folder}: only there it finds {names}", folder=folder, names=commas(names))
            )
    else:
        for one in asked.values():
            _check_program(project, migrated, points, one, folder)
    distributed = words[0] in _LAUNCHERS
    several, why, put_together = asked.get(cards, ()), "", False
    if not several and distributed:
        several = words
    elif not several and _is_distributed(project):
        put_together = True
        several = ("torchrun", "--standalone", f"--nproc_per_node={count}", *words)
        if not short:
            guessed.append(
                phrase("several cards: {several}, as the project uses torch.distributed", several=in_a_line(several))
            )
        else:
            guessed.append(
                phrase(
                    "several cards: not run here; it would be {several}, as the project uses torch.distributed",
                    several=in_a_line(several),
                )
            )
    elif not several:
        why = "the project does not use torch.distributed: it runs on one card only"
    original = asked.get(reference_entry, ())
    if not original and (options := _computes_on_cuda(project / folder, words)):
        original = (*words, *(word for option in options for word in (option, "{device}")))
        guessed.append(
            phrase(
                "the original is given {options}, as it computes on CUDA where that is not said",
                options=" ".join(original[len(words) :]),
            )
        )
    return Plan(
        words, original or words, asked.get(resume, ()), several, why, tuple(guessed), put_together, folder=folder
    )


def _folder(project: Path, migrated: Path | None, given: Mapping[str, Start]) -> str:
    """The folder that the commands name with ``cd``; empty: none.

    Raises:
        NpuifyError: there is no such folder, or they name more than one.
    """
    folders = list(dict.fromkeys(one.folder for one in given.values() if one.folder))
    if len(folders) > 1:
        raise NpuifyError(
            phrase("all commands are started in one folder, and not in {folders}", folders=commas(folders))
        )
    if folders and not any((one / folders[0]).is_dir() for one in (project, migrated) if one is not None):
        raise NpuifyError(phrase("{folder} is not a folder of the project", folder=folders[0]), file=str(project))
    return "".join(folders)


def _is_of(project: Path, words: Sequence[str]) -> bool:
    """Whether the project's own folder has the program of a command."""
    program = next((word for word in words if word.endswith(".py")), "")
    return bool(program) and project.is_dir() and (project / program).is_file()


def _check_program(
    project: Path, migrated: Path | None, points: Sequence[EntryPoint], words: Sequence[str], cwd: str
) -> None:
    """The first Python file that a command names has to be there; a copy is run in, so that it is known where."""
    program = next((word for word in words if word.endswith(".py")), "")
    folders = [project.parent if project.is_file() else project, *([migrated] if migrated is not None else [])]
    if program and "{" not in program and not any((folder / cwd / program).is_file() for folder in folders):
        programs = ", ".join(one.file for one in points[:8])
        raise NpuifyError(
            phrase("no such program: {program}", program=program),
            advice="specify it relative to the project folder" + (f"; programs: {programs}" if programs else ""),
            file=str(project),
        )


def _entry(project: Path, points: Sequence[EntryPoint], guessed: list[str]) -> tuple[str, ...]:
    if project.is_file():
        return (project.name,)
    found = [one.file for one in points if one.file.endswith(".py") and _TRAINING.search(one.file)]
    if not found:
        # Programs without a main guard, which nothing mentions.
        found = sorted(path.name for path in project.glob("*.py") if _TRAINING.search(path.name))
    nearest = min((file.count("/") for file in found), default=0)
    found = [file for file in found if file.count("/") == nearest]
    training = [file for file in found if "train" in file.rsplit("/", 1)[-1].lower()]
    chosen = training if training else found
    if len(chosen) == 1:
        guessed.append(phrase("the program: {chosen}, without arguments", chosen=chosen[0]))
        return (chosen[0],)
    commands = [
        mention.text for one in points for mention in one.mentions if mention.kind == "documentation" and mention.text
    ]
    listed = ", ".join(one.file for one in points[:8]) or "none was found"
    raise NpuifyError(
        "it is unclear which program trains" if chosen or points else "the project has no program that can be started",
        advice=phrase('specify it with its arguments: --entry "train.py --steps 20". Programs: {listed}', listed=listed)
        + (phrase(". Its documentation says: {commands}", commands=semicolons(commands[:4])) if commands else ""),
        file=str(project),
    )


def _is_distributed(project: Path) -> bool:
    return any(_DISTRIBUTED.search(text) for text in _sources(project))


def _sources(project: Path) -> Iterable[str]:
    files = [project] if project.is_file() else sorted(project.rglob("*.py"))[:2000]
    for path in files:
        try:
            if path.stat().st_size <= _LARGEST:
                yield path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue


def resume_option(project: Path, entry: Sequence[str]) -> str:
    """The option by which the program takes a checkpoint, such as ``--resume``; empty where none is seen."""
    program = next((word for word in entry if word.endswith(".py")), "")
    if not program and "-m" in entry[:-1]:
        program = entry[list(entry).index("-m") + 1].replace(".", "/") + ".py"
    path = project / program
    if not program or not path.is_file():
        return ""
    match = next((found for text in _sources(path) if (found := _RESUME.search(text))), None)
    return match[1] if match is not None else ""


def own_input(project: Path, entry: Sequence[str]) -> str:
    """The option by which the program makes its own input, such as ``--synthetic-data``; empty where none is seen."""
    match = _OWN_INPUT.search(_program_text(project, entry))
    return match[1] if match is not None else ""


def _computes_on_cuda(project: Path, entry: Sequence[str]) -> list[str]:
    """The program's options for a device that name CUDA by default, and that the command does not give."""
    found = [match[1] for match in _CUDA_BY_DEFAULT.finditer(_program_text(project, entry))]
    said = {word.partition("=")[0] for word in entry}
    return [option for option in dict.fromkeys(found) if option not in said]


def _program_text(project: Path, entry: Sequence[str]) -> str:
    """The text of the Python file that a command names; empty where it names none of the project."""
    program = next((word for word in entry if word.endswith(".py")), "")
    path = project / program if project.is_dir() else project
    return next(iter(_sources(path)), "") if program and path.is_file() else ""


def with_data(plan: Plan, place: str) -> Plan:
    """The plan with ``{data}`` in its commands replaced by the data's path."""
    entry, reference_entry, resume, cards = (
        tuple(word.replace("{data}", place) for word in words)
        for words in (plan.entry, plan.reference_entry, plan.resume, plan.cards)
    )
    return replace(plan, entry=entry, reference_entry=reference_entry, resume=resume, cards=cards)


def longer(words: Sequence[str]) -> list[str]:
    """The command with twice the epochs or steps; empty where it names none."""
    made = list(words)
    for place, word in enumerate(words):
        name, equals, value = word.rpartition("=")
        if equals and value.isdigit() and _LENGTH.search(name):
            made[place] = f"{name}={2 * int(value)}"
            return made
        if place and word.isdigit() and words[place - 1].startswith("-") and _LENGTH.search(words[place - 1]):
            made[place] = str(2 * int(word))
            return made
    return []


def checkpoints(folder: Path, since: float) -> list[Path]:
    """Files that look like checkpoints and were written after ``since``, the newest last."""
    found = [
        path
        for path in folder.rglob("*")
        if _CHECKPOINT.search(path.name) and path.is_file() and path.stat().st_mtime >= since
    ]
    return sorted(found, key=lambda path: path.stat().st_mtime)


def filled(words: Sequence[str], device: str) -> list[str]:
    """A command for ``cpu``, ``cuda`` or ``npu``."""
    values = WORDS[device]
    return [word.replace("{device}", values["device"]).replace("{backend}", values["backend"]) for word in words]
