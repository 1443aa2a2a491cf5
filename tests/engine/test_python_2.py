"""Files of Python 2: none is passed over, whether it has a word of any rule or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options
from npuify.source.python.python2 import may_be_python_2

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)
TWO = [
    'print "value", x\n',
    "def f(x):\n    print x\n",
    "print`x`\n",
    "try:\n    f()\nexcept OSError, e:\n    pass\n",
    "try:\n    f()\nexcept (OSError, IOError), e:\n    pass\n",
    'raise ValueError, "bad"\n',
    'exec "x = 1"\n',
    "if x: print 1\n",
    "x = 1; print x\n",
]
THREE = [
    "print('value')\n",
    "print ('value')\n",
    '"""Help.\n\nprint the value, and\nraise errors, if any\n"""\n',
    "text = '''\nprint \"a\"\n'''\n",
    "# print x\n",
    "try:\n    f()\nexcept (OSError, IOError) as e:\n    raise\n",
    "exec('x = 1')\n",
]


@pytest.mark.parametrize("text", TWO)
@pytest.mark.parametrize("more", ["", "import tensorflow as tf\ns = tf.Session()\n"])
def test_what_only_python_2_runs_is_told(tmp_path: Path, text: str, more: str) -> None:
    (tmp_path / "util.py").write_text(more + text)
    (tmp_path / "train.py").write_text("import torch\n")
    assert may_be_python_2(text.encode())
    result = scan([tmp_path], OPTIONS)
    assert [error.file for error in result.errors] == ["util.py"]
    assert "2to3" in (result.errors[0].advice or "")


@pytest.mark.parametrize("text", THREE)
def test_what_python_3_runs_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "util.py").write_text(text)
    assert not scan([tmp_path], OPTIONS).errors
