"""Imports of Horovod that may fail: on NPU machines they do, and the program must not go on as if it had one card."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Safety

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

TF = "import tensorflow as tf\n"
IMPORT = "import horovod.tensorflow as hvd"
KNOWN = "hvd = True  # the functions of npu_bridge take the place of Horovod's"
NONE = f"try:\n    {IMPORT}\nexcept ImportError:\n    hvd = None\n"


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        # Asked whether it is there: it is, as far as the program is concerned.
        (NONE + "if hvd is not None:\n    hvd.init()\n", f"try:\n    {KNOWN}\nexcept ImportError:\n    hvd = None\n", IMPORT),
        (NONE + "if not hvd:\n    n = 1\nelse:\n    n = hvd.size()\n", KNOWN, IMPORT),
        (NONE + "n = hvd.size() if hvd else 1\n", f"{KNOWN}\nexcept", IMPORT),
        (NONE + "if hvd and args.x:\n    hvd.init()\n", KNOWN, IMPORT),
        (NONE + "if hvd and hvd.rank() == 0:\n    save()\n", KNOWN, IMPORT),
        (f"if many:\n    {IMPORT}\nelse:\n    hvd = None\nif hvd:\n    hvd.init()\n", KNOWN, IMPORT),
        # A mark beside the import stays true.
        (f"try:\n    {IMPORT}\n    there = True\nexcept ImportError:\n    there = False\nif there:\n    hvd.init()\n",
         "try:\n    there = True\nexcept ImportError:\n    there = False\n", "hvd"),
        (f"try:\n    {IMPORT}\nexcept ImportError:\n    there = False\nelse:\n    there = True\nif there:\n    hvd.init()\n",
         "try:\n    pass\nexcept ImportError:\n", "hvd"),
        # Nothing asks: the try goes with it.
        (NONE + "hvd.init()\n", "init_resource()", "try:"),
        (f"try:\n    {IMPORT}\nexcept ImportError:\n    raise SystemExit('no horovod here')\nhvd.init()\n", "init_resource()", "try:"),
        # ... unless a comment stands in it.
        (f"try:\n    {IMPORT}\nexcept ImportError:\n    pass  # one card\nhvd.init()\n", "try:\n    pass\nexcept ImportError:\n    pass  # one card\n", "import horovod"),
        (f"if args.many:\n    {IMPORT}\nhvd.init()\n", "if args.many:\n    pass\n", "import horovod"),
        (f"if args.many:\n    pass\nelse:\n    {IMPORT}\nhvd.init()\n", "else:\n    pass\n", "import horovod"),
    ],
)  # fmt: skip
def test_the_answer_stays_yes(text: str, kept: str, gone: str) -> None:
    out = output(TF + text, tensorflow="1", unsafe=True)
    assert kept in out
    assert gone not in out
    assert output(out, tensorflow="1", unsafe=True) == out


def test_what_one_function_imports_is_not_used_by_another() -> None:
    text = (
        f"{TF}def a():\n    {IMPORT}  # pylint: disable=g-import-not-at-top\n    return hvd.rank()\n"
        f"def b(t):\n    {IMPORT}\n    return hvd.allgather(t)\n"
        f"def c():\n    if many:\n        {IMPORT}  # what for\n        n = hvd.size()\n"
    )
    out = output(text, tensorflow="1", unsafe=True)
    assert "def a():\n    return get_rank_id()\n" in out
    assert f"def b(t):\n    {IMPORT}\n    return hvd.allgather(t)\n" in out
    assert f"        {IMPORT}  # what for\n        n = get_rank_size()\n" in out, "a comment does not go with it"
    left = [one for one in findings(out, tensorflow="1") if one.code == "NPU915"]
    assert [(one.safety, one.advice) for one in left] == [(Safety.MANUAL, "take the import out")]


@pytest.mark.parametrize(
    "more",
    [
        "hvd.init()\nt = hvd.allgather(t)\n",
        "hvd.init()\ntrain(hvd)\n",
        "hvd.init()\nmodule = hvd or other\n",
        "hvd.init()\nif hvd == None:\n    pass\n",
    ],
)
def test_what_still_uses_it_is_told(more: str) -> None:
    out = output(TF + NONE + more, tensorflow="1", unsafe=True)
    assert NONE in out
    told = [one.message for one in findings(out, tensorflow="1") if one.code == "NPU915"]
    assert any("as if it had one card" in one for one in told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("has = importlib.util.find_spec('horovod') is not None\n", True),
        ("hvd = importlib.import_module('horovod.tensorflow')\n", True),
        ("has = find_spec('horovod.torch')\n", False),
        ("has = find_spec('mpi4py')  # horovod\n", False),
        ("print('horovod')\n", False),
    ],
)
def test_a_question_for_it_is_told(text: str, told: bool) -> None:
    assert ("NPU915" in [one.code for one in findings(TF + text, tensorflow="1")]) == told


def test_an_import_that_others_take_stays(tmp_path: Path) -> None:
    text = (
        TF
        + "try:\n    import horovod.tensorflow as hvd\nexcept ImportError:\n    hvd = None\n\n\ndef start():\n    hvd.init()\n"
    )
    (tmp_path / "comm.py").write_text(text)
    (tmp_path / "train.py").write_text(TF + "from comm import hvd\nprint(hvd.allgather(x))\n")
    assert "import horovod" in output(text, root=tmp_path, name="comm.py", tensorflow="1", unsafe=True)
    (tmp_path / "train.py").write_text(TF + "from comm import start\nstart()\n")
    assert "import horovod" not in output(text, root=tmp_path, name="comm.py", tensorflow="1", unsafe=True)
