"""What the project calls like things of torch's is its own: it stays as it is, wherever it is defined."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...harness import output

OWN = """import contextlib


@contextlib.contextmanager
def autocast(device_type="cuda"):
    yield device_type


def init_process_group(backend="nccl"):
    return backend


class Quantity:
    def to(self, unit):
        return self
"""
MAIN = """import torch
import own
from own import Quantity, autocast, init_process_group

q = Quantity()
q.to("cuda")
with autocast("cuda"):
    pass
with own.autocast(device_type="cuda"):
    pass
init_process_group("nccl")
own.init_process_group(backend="nccl")
"""


def written(root: Path, files: dict[str, str], name: str, style: str = "npu") -> str:
    for relative, text in files.items():
        (root / relative).parent.mkdir(parents=True, exist_ok=True)
        (root / relative).write_text(text)
    return output(files[name], root=root, name=name, style=style)


@pytest.mark.parametrize("name", ["main.py", "own.py"])
def test_own_things_stay_byte_for_byte(name: str, tmp_path: Path) -> None:
    files = {"own.py": OWN, "main.py": MAIN}
    assert written(tmp_path, files, name) == files[name]


def test_what_an_own_context_yields_to_torch_is_a_device(tmp_path: Path) -> None:
    main = (
        'import torch\nfrom own import autocast\nwith autocast("cuda") as place:\n    x = torch.ones(2, device=place)\n'
    )
    assert '"npu"' in written(tmp_path, {"own.py": OWN, "main.py": main}, "main.py")
    assert 'device_type="npu"' in written(tmp_path, {"own.py": OWN, "main.py": main}, "own.py")


def test_a_method_that_others_override_may_read_what_it_is_given(tmp_path: Path) -> None:
    own = "class Base:\n    def to(self, device):\n        raise NotImplementedError\n"
    main = 'import torch\nfrom own import Base\ndef move(one: Base):\n    return one.to("cuda")\n'
    assert '.to("npu")' in written(tmp_path, {"own.py": own, "main.py": main}, "main.py")


def test_a_constant_of_another_file_is_a_device_where_that_file_uses_it(tmp_path: Path) -> None:
    settings = 'def on_card():\n    return True\n\n\nPLATFORM = "cuda" if on_card() else "cpu"\n'
    main = "import torch\nimport settings\n\ndevice = torch.device(settings.PLATFORM)\n"
    out = written(tmp_path, {"settings.py": settings, "main.py": main}, "settings.py")
    assert 'PLATFORM = "npu" if' in out


def test_both_ends_of_a_comparison_of_the_programs_own_text_change() -> None:
    text = 'import torch\nname = f"cuda:{0}"\nx = torch.ones(2, device=name)\nkind, _, n = name.partition(":")\nassert kind == "cuda"\nassert "cuda" in name\nassert name.split(":")[0].lower() == "cuda"\n'
    assert "cuda" not in output(text)
    mode = 'import torch\nmode = "cuda"\nif mode == "cuda":\n    print("kernels of our own")\n'
    assert output(mode) == mode


def test_a_name_put_together_from_a_device_is_one() -> None:
    text = 'import torch\ndef names(i):\n    kind = "cuda"\n    whole = f"{kind}:{i}"\n    other = "cuda:" + str(i)\n    assert whole.startswith("cuda") and other[:4] == "cuda"\n    return torch.device(whole), torch.device(other)\n'
    assert "cuda" not in output(text)
