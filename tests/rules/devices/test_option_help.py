"""An option that lists cuda among its choices: what is given afterwards is said once, and its help follows."""

from __future__ import annotations

import pytest

from ...harness import findings, output

HEAD = "import argparse\nimport torch\np = argparse.ArgumentParser()\n"
TAIL = "\na = p.parse_args()\nx = torch.ones(1, device=a.device)\n"
OPTION = 'p.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help={help})'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"cuda or cpu"', '"npu or cpu"'),
        ('"cuda, or cpu; a number of a card as in cuda:0"', '"npu, or cpu; a number of a card as in cuda:0"'),
        ('"runs on cuda."', '"runs on npu."'),
        # A part of another word, of a path or of a name says nothing of the option's values.
        ('"see docs/cuda/setup.md"', '"see docs/cuda/setup.md"'),
        ('"see torch.cuda, pycuda, cuda_home or non-cuda"', '"see torch.cuda, pycuda, cuda_home or non-cuda"'),
        ('"CUDA must be there"', '"CUDA must be there"'),
        # Where letters are not written as they are, nothing is sought.
        ('"\\x63uda or cuda"', '"\\x63uda or cuda"'),
    ],
)
def test_help_of_the_same_option(before: str, after: str) -> None:
    text = output(HEAD + OPTION.format(help=before) + TAIL)
    assert f'choices=["npu", "cpu"], default="npu", help={after})' in text


def test_help_of_other_options_and_styles_stays() -> None:
    other = 'p.add_argument("--backend", help="cuda or cpu")'
    assert other in output(HEAD + other + "\n" + OPTION.format(help='"where"') + TAIL)
    assert 'help="cuda or cpu"' in output(HEAD + OPTION.format(help='"cuda or cpu"') + TAIL, style="portable")


def test_what_is_refused_afterwards_is_said_once() -> None:
    told = [one.advice for one in findings(HEAD + OPTION.format(help='"where"') + TAIL) if one.code == "NPU120"]
    assert sorted(told) == ["", "afterwards --device cuda is refused: scripts must give --device npu"]
    free = HEAD + 'p.add_argument("--device", default="cuda")' + TAIL
    assert [one.advice for one in findings(free) if one.code == "NPU120"] == [""]
