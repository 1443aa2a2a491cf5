"""What runs only where an option asks for it, and so does not stop a program that is started without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import ScanResult
    from npuify.report.verdicts.verdict import Verdict

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)
PARSER = """
import argparse, os, torch
parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--no-amp", dest="use_apex", action="store_false")
parser.add_argument("--opt-level", default="O0")
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--loss-scale")
parser.add_argument("--kind", default=os.environ["KIND"])
args = parser.parse_args()
SWITCH, OTHER = False, False
FUSED = False
use = args.amp and torch.npu.is_available()
"""
USE = "torch.cuda.cudart()"


def scan_of(folder: Path, **files: str) -> ScanResult:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return scan([folder], OPTIONS)


def verdict(folder: Path, **files: str) -> Verdict:
    return judge(scan_of(folder, **files))


def switches(found: Verdict) -> list[str]:
    return [one.what for one in found.conditional]


@pytest.mark.parametrize(
    ("condition", "switch"),
    [
        ("args.amp", "--amp"),
        ("args.amp is True", "--amp"),
        ("args.amp and args.loss_scale", "--amp"),
        ("torch.npu.is_available() and args.amp", "--amp"),
        ("not args.use_apex", "--no-amp"),
        ("args.opt_level == 'O1'", "--opt-level O1"),
        ("args.opt_level != 'O0'", "--opt-level"),
        ("args.opt_level in ('O1', 'O2')", "--opt-level"),
        ("args.loss_scale is not None", "--loss-scale"),
        ("args.local_rank >= 0", "--local_rank"),
        ("bool(args.amp)", "--amp"),
        ("use", "--amp"),
        ("FUSED", "FUSED = True"),
        ("SWITCH", "SWITCH = True"),
        ("os.environ.get('USE_APEX')", "the variable USE_APEX"),
        ("os.getenv('USE_APEX', '0') == '1'", "the variable USE_APEX"),
        # What cannot be told, or holds without being asked for, keeps nothing from running.
        ("args.use_apex", ""),
        ("not args.amp", ""),
        ("args.amp or torch.npu.is_available()", ""),
        ("args.kind == 'apex'", ""),
        ("args.unknown", ""),
        ("torch.npu.is_available()", ""),
        ("other.amp", ""),
        ("True", ""),
    ],
)
def test_conditions(condition: str, switch: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, train=f"{PARSER}\nif {condition}:\n    {USE}\n")
    assert switches(found) == ([switch] if switch else [])
    assert (found.level is Level.RUNS) is bool(switch)


@pytest.mark.parametrize(
    "code",
    [
        f"def start():\n    if not args.amp:\n        return\n    {USE}\nstart()\n",
        f"for _ in range(3):\n    if not args.amp:\n        continue\n    {USE}\n",
        f"if args.opt_level == 'O0':\n    pass\nelse:\n    {USE}\n",
        f"if args.opt_level == 'O0':\n    pass\nelif args.amp:\n    {USE}\n",
        f"class Run:\n    def __init__(self):\n        self.amp = args.amp\n    def go(self):\n        if self.amp:\n            {USE}\n",
        f"def main(options):\n    if options.amp:\n        {USE}\nmain(args)\n",
    ],
)
def test_forms(code: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, train=PARSER + code).level is Level.RUNS


@pytest.mark.parametrize(
    "code",
    [
        f"def start():\n    {USE}\n    if not args.amp:\n        return\nstart()\n",
        f"for _ in range(3):\n    if not args.amp:\n        break\n{USE}\n",
        f"if args.opt_level == 'O0':\n    {USE}\n",
        f"parser.set_defaults(amp=True)\nif args.amp:\n    {USE}\n",
        f"class Run:\n    def __init__(self):\n        self.amp = args.amp\n        self.amp = True\n    def go(self):\n        if self.amp:\n            {USE}\n",
        f"args.amp = True\nif args.amp:\n    {USE}\n",
    ],
)
def test_what_runs_without_being_asked_for(code: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, train=PARSER + code)
    assert found.level is not Level.RUNS and not found.conditional


def test_an_option_of_another_file(tmp_path: Path) -> None:
    train = f"import torch\nfrom settings import args\nif args.amp:\n    {USE}\n"
    found = verdict(tmp_path, settings=PARSER, train=train)
    assert switches(found) == ["--amp"]
    assert "only with --amp" in found.summary
    again = verdict(tmp_path, settings=PARSER, train=train, more="p.add_argument('--amp', default=True)\n")
    assert again.level is Level.REVIEW


CLICK = """
import click, torch
@click.command()
@click.option("--amp", is_flag=True)
@click.option("--fast/--slow", default=False)
@click.option("-l", "--level", "kind", default="O0")
@click.option("--size", type=int, required=True)
@click.option("--on", is_flag=True, default=True)
def main(amp, fast, kind, size, on):
"""
TYPER = """
import typer, torch
app = typer.Typer()
@app.command()
def main(amp: bool = False, kind: str = typer.Option("O0", "--level"), size: int = typer.Option(...), on: bool = True):
"""
FIRE = """
import fire, torch
def main(amp=False, *, kind="O0", size, on=True):
"""


@pytest.mark.parametrize(
    ("head", "tail", "condition", "switch"),
    [
        (CLICK, "", "amp", "--amp"),
        (CLICK, "", "fast", "--fast"),
        (CLICK, "", "kind == 'O1'", "--level O1"),
        (CLICK, "", "size", ""),
        (CLICK, "", "on", ""),
        (TYPER, "", "amp", "--amp"),
        (TYPER, "", "kind == 'O1'", "--kind O1"),
        (TYPER, "", "size", ""),
        (TYPER, "", "on", ""),
        (FIRE, "fire.Fire(main)\n", "amp", "--amp"),
        (FIRE, "fire.Fire()\n", "kind == 'O1'", "--kind O1"),
        (FIRE, "fire.Fire(main)\n", "size", ""),
        (FIRE, "fire.Fire(main)\n", "on", ""),
        # Whoever calls it may pass it.
        (FIRE, "main(amp=True, size=1)\n", "amp", ""),
    ],
)
def test_options_that_are_parameters(head: str, tail: str, condition: str, switch: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, train=f"{head}    if {condition}:\n        {USE}\n{tail}")
    assert switches(found) == ([switch] if switch else [])


FIELDS = """
import torch, tyro
from dataclasses import dataclass, field
@dataclass
class Args:
    amp: bool = False
    kind: str = field(default="O0", metadata={})
    size: int = field(default_factory=int)
    on: bool = True
args = tyro.cli(Args)
"""


@pytest.mark.parametrize(
    ("condition", "switch"),
    [("args.amp", "--amp"), ("args.kind == 'O1'", "--kind O1"), ("args.size", ""), ("args.on", ""), ("args.no", "")],
)
def test_options_that_are_fields(condition: str, switch: str, tmp_path: Path) -> None:
    # Other programs have the same options with other defaults.
    others = {f"other{number}": FIELDS.replace("amp: bool = False", "amp: bool = True") for number in range(13)}
    found = verdict(tmp_path, train=f"{FIELDS}if {condition}:\n    {USE}\n", **others)
    assert switches(found) == ([switch] if switch else [])


@pytest.mark.parametrize(
    ("guard", "switch"), [("if args.settings:\n    ", "--amp"), ("", ""), ("if args.known:\n    ", "")]
)
def test_a_file_of_settings(guard: str, switch: str, tmp_path: Path) -> None:
    code = "parser.add_argument('--settings', default='')\nparser.add_argument('--known', default='x')\n"
    code += f"{guard}parser.set_defaults(**read(args.settings))\n"
    found = verdict(tmp_path, train=f"{PARSER}{code}if args.amp:\n    {USE}\n")
    assert switches(found) == ([switch] if switch else [])


def test_what_nothing_is_known_of(tmp_path: Path) -> None:
    code = "import unheard\nif args.amp:\n    unheard.start(use_cuda_graph=1)\n"
    found = scan_of(tmp_path, train=PARSER + code)
    assert [(one.only_with, one.start.line) for one in found.findings if one.code == "NPU191"] == [("--amp", 16)]
    assert judge(found).level is Level.RUNS


FUNCTION = "def used(x):\n    return torch.cuda.cudart()\n"
METHOD = "class Used{bases}:\n    def used(self, x):\n        return torch.cuda.cudart()\n"


@pytest.mark.parametrize(
    ("text", "switch"),
    [
        (FUNCTION + "if args.amp:\n    used(1)\n", "--amp"),
        (FUNCTION + "def caller(x):\n    used(x)\nif args.amp:\n    caller(1)\n", "--amp"),
        (FUNCTION + "step = used if args.amp else print\n", "--amp"),
        (FUNCTION + "if args.amp:\n    used(1)\ndestroy_global_vars()\n", "--amp"),
        (METHOD.format(bases="") + "if args.amp:\n    Used().used(1)\n", "--amp"),
        (METHOD.format(bases="(torch.nn.Module)") + "if args.amp:\n    Used().used(1)\n", "--amp"),
        (METHOD.format(bases="") + "made = Used()\nif args.amp:\n    made.used(1)\n", "--amp"),
        # What may lead there by another way counts as running.
        (FUNCTION + "if args.amp:\n    used(1)\nused(2)\n", ""),
        (FUNCTION + "table = {'used': used}\nif args.amp:\n    used(1)\n", ""),
        (FUNCTION + "if args.amp:\n    used(1)\nglobals()[args.kind](1)\n", ""),
        (FUNCTION + "if args.amp:\n    used(1)\nstep = getattr(torch, 'used')\n", ""),
        ("@register\n" + FUNCTION + "if args.amp:\n    used(1)\n", ""),
        (FUNCTION, ""),
        (METHOD.format(bases="(Base)") + "made = Used()\nif args.amp:\n    made.used(1)\n", ""),
        ("def used(x=torch.cuda.cudart()):\n    pass\nif args.amp:\n    used(1)\n", ""),
    ],
)
def test_through_those_who_call_it(text: str, switch: str, tmp_path: Path) -> None:
    assert switches(verdict(tmp_path, main=f"{PARSER}{text}")) == ([switch] if switch else [])


@pytest.mark.parametrize(
    ("main", "switch"),
    [
        ("from helpers import used\nif args.amp:\n    used(1)\n", "--amp"),
        ("import helpers\nif args.amp:\n    helpers.used(1)\n", "--amp"),
        ("from helpers import used\nif args.amp:\n    used(1)\nused(2)\n", ""),
        ("from helpers import used as other\nif args.amp:\n    other(1)\n", ""),
        ("import helpers\nif args.amp:\n    helpers.used(1)\ngetattr(helpers, args.kind)(1)\n", ""),
    ],
)
def test_through_callers_in_other_files(main: str, switch: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, main=f"{PARSER}{main}", helpers=f"import torch\n{FUNCTION}")
    assert switches(found) == ([switch] if switch else [])


HYDRA = """
import hydra, torch
@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(cfg):
    if cfg.train.fast:
        torch.cuda.cudart()
if __name__ == "__main__":
    main()
"""
LOADED = """
import torch, yaml
cfg = yaml.safe_load(open("conf/config.yaml"))
if cfg["train"]["fast"]:
    torch.cuda.cudart()
"""


@pytest.mark.parametrize("main", [HYDRA, LOADED], ids=["hydra", "loaded"])
@pytest.mark.parametrize(
    ("settings", "switch"),
    [
        ("train:\n  fast: false\n", "train.fast=True"),
        ("train:\n  fast: true\n", ""),
        ("train:\n  other: false\n", ""),
        ("train: [\n", ""),
        ("train:\n  fast: ${other}\n", ""),
    ],
)
def test_files_of_settings(main: str, settings: str, switch: str, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/config.yaml").write_text(settings)
    assert switches(verdict(tmp_path, main=main)) == ([switch] if switch else [])


def test_groups_of_settings(tmp_path: Path) -> None:
    (tmp_path / "conf/train").mkdir(parents=True)
    (tmp_path / "conf/config.yaml").write_text("defaults:\n  - train: small\n  - _self_\n")
    (tmp_path / "conf/train/small.yaml").write_text("fast: false\n")
    assert switches(verdict(tmp_path, main=HYDRA)) == ["train.fast=True"]


CHOICE = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--device", {given})
args = parser.parse_args()
if __name__ == "__main__":
    print(torch.ones(2).to(args.device))
"""


@pytest.mark.parametrize(
    ("given", "style", "say"),
    [
        ('default="cpu"', "npu", "--device npu"),
        ('default="cpu", choices=["cpu", "cuda"]', "portable", "--device npu"),
        ('default="cpu", choices=["cpu", "cuda"]', "auto", "--device cuda"),
        ('default="cuda", choices=["cpu", "cuda"]', "npu", ""),
        ('default="cpu", choices=["cpu", "mps"]', "npu", ""),
        ('default="cpu", type=int', "npu", ""),
    ],
)
def test_programs_that_stay_on_the_cpu_say_how_to_start_them(given: str, style: str, say: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(CHOICE.format(given=given))
    (program,) = judge(scan([tmp_path], Options(style=style, torch_npu="2.14.0", jobs=1, cache=False))).programs
    assert [one.say for one in program.starts] == ([say] if say else [])
    assert (f"Start it with {say}: without it, the program runs on the CPU (main.py:4)." in program.summary) is bool(
        say
    )


def test_hydra_reads_no_options_of_what_is_imported(tmp_path: Path) -> None:
    model = (
        "import argparse\nimport torch\n\n\ndef test():\n    parser = argparse.ArgumentParser()\n"
        '    parser.add_argument("--device", default="cpu")\n    args = parser.parse_args()\n'
        '    torch.nn.Linear(1, 1).to(args.device)\n\n\nif __name__ == "__main__":\n    test()\n'
    )
    main = (
        'import hydra\nimport model\n\n\n@hydra.main(config_path=".")\ndef main(args):\n    print(model)\n\n\n'
        'if __name__ == "__main__":\n    main()\n'
    )
    programs = {one.file: one for one in verdict(tmp_path, model=model, train=main).programs}
    assert not programs["train.py"].starts
    assert [one.say for one in programs["model.py"].starts] == ["--device npu"]
