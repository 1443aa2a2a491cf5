"""Variables of the environment that commands in texts of Python set."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from .harness import findings

HEAD = "import os\nimport subprocess\n"


@pytest.mark.parametrize(
    "text",
    [
        "os.system('CUDA_VISIBLE_DEVICES=0,1 python train.py')\n",
        "os.system('export CUDA_VISIBLE_DEVICES=%d && python train.py' % i)\n",
        "subprocess.run(f'CUDA_VISIBLE_DEVICES={i} python train.py', shell=True)\n",
        "command = f'CUDA_VISIBLE_DEVICES={i} python train.py '\ncommand += '--x 1'\nos.system(command)\n",
        "os.system('CUDA_VISIBLE_DEVICES={} python train.py'.format(i))\n",
    ],
)
def test_a_command_in_a_text_is_told(text: str) -> None:
    (found,) = findings(HEAD + text)
    assert (found.code, found.safety, found.edits) == ("NPU701", Safety.MANUAL, ())
    assert "ASCEND_RT_VISIBLE_DEVICES" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "usage = 'CUDA_VISIBLE_DEVICES=0,1 python train.py'\nprint(usage)\n",
        "raise ValueError('CUDA_VISIBLE_DEVICES=0 is not enough')\n",
        "os.system('python train.py CUDA_VISIBLE_DEVICES=0')\n",
        "os.system('BATCH_SIZE=4 python train.py')\n",
    ],
)
def test_other_texts_are_no_commands(text: str) -> None:
    assert not findings(HEAD + text)
