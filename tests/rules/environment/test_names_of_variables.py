"""Both ends of a variable change together, also where a name of another file stands for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import output

if TYPE_CHECKING:
    from pathlib import Path

NAMES = 'VISIBLE = "CUDA_VISIBLE_DEVICES"\n'
USES = (
    'import os\nfrom names import VISIBLE\nos.environ[VISIBLE] = "0"\nprint(os.environ.get("CUDA_VISIBLE_DEVICES"))\n'
)


@pytest.mark.parametrize(
    ("uses", "changes"),
    [
        (USES, True),
        ("import os\nimport names\nprint(os.getenv(names.VISIBLE))\n", True),
        ("import names\nprint(names.VISIBLE)\n", False),
        ("import names\ntable = {names.VISIBLE: 1}\nprint(table[names.VISIBLE])\n", False),
        # Its devices have other numbers there, which a person has to see.
        (USES.replace('"0"', '"1,0"'), False),
        (USES.replace('"0"', '"GPU-8932f937"'), False),
    ],
)
def test_a_name_in_another_file(uses: str, changes: bool, tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(NAMES)
    (tmp_path / "main.py").write_text(uses)
    text = output(NAMES, root=tmp_path, name="names.py")
    assert text == (NAMES.replace("CUDA_", "ASCEND_RT_") if changes else NAMES)
