"""What a device's type is compared with changes with where devices are made, also across files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

CONVERTER = "def kind(name):\n    if name == 'cpu':\n        return 1\n    elif name == 'cuda':\n        return 2\n    raise ValueError(name)\n"
TABLE = "KINDS = {'cpu': 1, 'cuda': 2}\n\ndef kind(name):\n    return KINDS[name]\n"
CASES = "def kind(name):\n    match name:\n        case 'cuda':\n            return 2\n"
OF_DEVICE = "import torch\nfrom kinds import kind\nx = torch.ones(2).cuda()\nprint(kind(torch.device('cuda').type), kind(x.device.type))\n"


def converted(root: Path, kinds: str, main: str, style: str = "npu") -> str:
    (root / "kinds.py").write_text(kinds)
    (root / "main.py").write_text(main)
    return output(kinds, root=root, name="kinds.py", style=style)


@pytest.mark.parametrize(
    ("kinds", "before", "after", "portable", "auto"),
    [
        (CONVERTER, "name == 'cuda'", "name == 'npu'", "name == compute_device.type", "name in ('cuda', 'npu')"),
        (TABLE, "'cuda': 2", "'npu': 2", "'cuda': 2, 'npu': 2", "'cuda': 2, 'npu': 2"),
        (CASES, "case 'cuda':", "case 'npu':", "case compute_device.type:", "case 'cuda' | 'npu':"),
    ],
    ids=["comparison", "table", "case"],
)
def test_all_ends_change(kinds: str, before: str, after: str, portable: str, auto: str, tmp_path: Path) -> None:
    for style, expected in (("npu", after), ("portable", portable), ("auto", auto)):
        text = converted(tmp_path, kinds, OF_DEVICE, style)
        assert text.removeprefix("import compute_device").lstrip() == kinds.replace(before, expected)


@pytest.mark.parametrize(
    "main",
    [
        # Words of the program's own, beside what a device says or alone.
        "import torch\nfrom kinds import kind\nprint(kind(torch.ones(2).device.type), kind('cuda'))\n",
        "from kinds import kind\nprint(kind('cuda'), kind('opencl'))\n",
        "import sys\nfrom kinds import kind\nprint(kind(sys.argv[1]))\n",
        "",
    ],
)
@pytest.mark.parametrize("kinds", [CONVERTER, TABLE, CASES])
def test_words_of_the_program_are_told(kinds: str, main: str, tmp_path: Path) -> None:
    assert converted(tmp_path, kinds, main) == kinds
    told = [finding for finding in findings(kinds, root=tmp_path, name="kinds.py") if finding.code == "NPU120"]
    assert [finding.safety.value for finding in told] == ["review"]


def test_a_case_for_the_npu_is_enough(tmp_path: Path) -> None:
    kinds = CASES + "        case 'npu':\n            return 3\n"
    for style in ("npu", "portable", "auto"):
        assert converted(tmp_path, kinds, OF_DEVICE, style) == kinds


@pytest.mark.parametrize(
    "line",
    [
        "print(x.device.type in ('cuda' if True else 'cpu'))",
        "print(['cpu', 'cuda'].index(x.device.type))",
        "print(bool(('cuda',).count(x.device.type)))",
        "print('cuda'.startswith(x.device.type))",
        "print((lambda word: word == 'cuda')(x.device.type))",
        "print({'cuda'}.issuperset([x.device.type]))",
        "print({'cuda', 'mps'} & {x.device.type} != set())",
        "print('{}'.format(x.device).startswith('cuda'))",
        "print(('on %s' % x.device).endswith('cuda'))",
        "is_gpu = lambda word: word == 'cuda'\nprint(is_gpu(x.device.type))",
        "said = {'device': x.device.type}\nprint(said == {'device': 'cuda'})",
    ],
)
def test_words_beside_what_torch_says_are_told_in_auto(line: str, tmp_path: Path) -> None:
    text = f"import torch\nx = torch.ones(2).cuda()\n{line}\n"
    found = findings(text, root=tmp_path, style="auto")
    assert [one.code for one in found if one.start.line > 2] == ["NPU120"]


@pytest.mark.parametrize(
    "line",
    [
        "print(args.device in ('cuda' if True else 'cpu'))",
        "print(['cpu', 'cuda'].index(args.device))",
        "print('cuda'.startswith(args.device))",
        "print({'cuda', 'mps'} & {args.device} != set())",
        "print('{}'.format(args.device).startswith('cuda'))",
        "is_gpu = lambda word: word == 'cuda'\nprint(is_gpu(args.device))",
        "said = {'device': args.device}\nprint(said == {'device': 'cuda'})",
    ],
)
def test_words_beside_options_stay_in_auto(line: str, tmp_path: Path) -> None:
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\nargs = p.parse_args()\n"
    text = f"{options}{line}\nimport torch\nx = torch.ones(2).to(args.device)\n"
    assert not [one for one in findings(text, root=tmp_path, style="auto") if one.code == "NPU120"]


@pytest.mark.parametrize("device", ["'%s:%d' % place()", "'{}:{}'.format(*place())", "place()[0] + ':0'"])
def test_a_text_is_a_device_to_a_method_that_takes_one(device: str, tmp_path: Path) -> None:
    text = f"import torch\nfrom elsewhere import place\nx = torch.ones(2).cuda(device={device})\n"
    assert f".to(device={device})" in output(text, root=tmp_path, style="auto")


@pytest.mark.parametrize("style", ["npu", "portable"])
@pytest.mark.parametrize(
    ("written", "edited"),
    [
        ("'check_' + str(settings.PLACE).split(':')[0]", "str(settings.PLACE).split(':')[0]"),
        ("'check_' + settings.KIND", "settings.KIND"),
        ("f'check_{settings.KIND}'", "settings.KIND"),
        ("'check_' + settings.OTHER", ""),
    ],
)
def test_a_name_made_of_a_device_of_another_file(written: str, edited: str, style: str, tmp_path: Path) -> None:
    """A name of another file is known to this one as such a name, and ``str()`` of it as a text: neither says what it is."""
    (tmp_path / "settings.py").write_text(
        "import torch\nPLACE = 'cuda:0'\nKIND = 'cuda'\nOTHER = 'cpu'\nx = torch.ones(1, device=KIND).to(PLACE)\n"
    )
    text = f"import torch\nimport settings\n\ndef check_cuda():\n    return 1\n\nprint(torch.cuda, globals()[{written}]())\n"
    (tmp_path / "main.py").write_text(text)
    after = f'{edited}.replace("npu", "cuda")'
    expected = written.replace(edited, after) if edited else written
    assert f"globals()[{expected}]()" in output(text, root=tmp_path, name="main.py", style=style)


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("speed(**{str(( x.device )).split(':')[0]: 1})", True),
        ("torch.device(next(name for name, value in vars(args).items() if value))", True),
        ("{name: value for name, value in vars(args).items()}", False),
    ],
)
def test_keywords_and_names_of_options_that_are_devices(line: str, is_told: bool, tmp_path: Path) -> None:
    text = f"import torch\n\ndef speed(cuda=0, cpu=0):\n    return cuda\n\nx = torch.ones(2).cuda()\nprint({line})\n"
    assert any(one.code == "NPU129" for one in findings(text, root=tmp_path)) is is_told
