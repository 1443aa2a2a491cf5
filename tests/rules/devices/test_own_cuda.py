"""A class with a ``cuda`` of its own makes its own objects unclear, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import findings

if TYPE_CHECKING:
    from pathlib import Path

OWN = "class PairBatch:\n    def __init__(self, x):\n        self.x = x\n    def cuda(self):\n        return self\n"


def safeties(root: Path, files: dict[str, str], name: str = "main.py") -> dict[int, str]:
    """How safe the edits of ``.cuda()`` in a file are, by line."""
    for relative, text in files.items():
        (root / relative).parent.mkdir(parents=True, exist_ok=True)
        (root / relative).write_text(text)
    found = findings(files[name], root=root, name=name)
    return {finding.start.line: finding.safety.value for finding in found if finding.code == "NPU110"}


def test_what_is_surely_no_such_object_is_edited(tmp_path: Path) -> None:
    main = "import torch\nfrom own import PairBatch\n\ndef step(model, x, pair_batch):\n    model.cuda()\n    x = x.cuda()\n    pair_batch.cuda()\n    PairBatch(x).cuda()\n"
    assert safeties(tmp_path, {"own.py": OWN, "main.py": main}) == {5: "safe", 6: "safe", 7: "review"}


@pytest.mark.parametrize("how", ["collate_fn=collate", "collate_fn=PairBatch"])
def test_what_a_loader_yields_may_be_one(how: str, tmp_path: Path) -> None:
    data = f"from torch.utils.data import DataLoader\nfrom own import PairBatch\ndef collate(items):\n    return PairBatch(items)\ndef loaders(d):\n    return DataLoader(d, {how})\n"
    main = "import torch\nimport data\nfor element in data.loaders(0):\n    element.cuda()\nmodel = torch.load('x')\nmodel.cuda()\n"
    assert safeties(tmp_path, {"own.py": OWN, "data.py": data, "main.py": main}) == {4: "review", 6: "safe"}


def test_a_folder_that_no_program_imports_counts_for_nothing(tmp_path: Path) -> None:
    main = "import torch\n\ndef step(pair_batch):\n    pair_batch.cuda()\n"
    assert safeties(tmp_path, {"vendor/own.py": OWN, "main.py": main}) == {4: "safe"}
    assert safeties(tmp_path, {"main.py": "import vendor.own\n" + main}) == {5: "review"}


def test_a_class_that_many_files_name_may_be_anywhere(tmp_path: Path) -> None:
    files = {f"part{number}.py": "from own import PairBatch\nPairBatch(1)\n" for number in range(30)}
    main = "import torch\nimport own\n\ndef step(x):\n    x.cuda()\n"
    assert safeties(tmp_path, {"own.py": OWN, **files, "main.py": main}) == {5: "review"}


def test_other_lines_may_come_and_go(tmp_path: Path) -> None:
    main = "import torch\nfrom own import PairBatch\nthing = [PairBatch(1), load()]\nthing[n].cuda()\n"
    assert safeties(tmp_path, {"own.py": OWN, "main.py": main}) == {4: "review"}
    later = main.replace("import torch\n", "import torch\nimport torch_npu\n")
    found = findings(later, root=tmp_path, name="main.py")
    assert {finding.safety.value for finding in found if finding.code == "NPU110"} == {"review"}


def test_objects_of_functions_and_packages_are_not_passed_over(tmp_path: Path) -> None:
    main = "import clip\nimport nets\n\ndef run():\n    run.buffer.cuda()\n    clip.model.cuda()\n    nets.holder.model.cuda()\n    clip.cuda()\n"
    assert safeties(tmp_path, {"nets.py": "holder = Holder()\n", "main.py": main}) == {
        5: "review",
        6: "review",
        7: "review",
    }
