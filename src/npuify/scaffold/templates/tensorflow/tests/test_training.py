"""The project's own tests, on the CPU: ``python -m pytest`` or ``python -m unittest discover tests``."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*options):
    """The losses that a run prints."""
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONHASHSEED="0")
    done = subprocess.run(
        [sys.executable, "train.py", *options],
        cwd=str(ROOT),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stderr
    return [line.split()[3] for line in done.stdout.splitlines() if line.startswith("epoch")]


class Training(unittest.TestCase):
    """Losses fall, and a run that goes on does what it would have done."""

    def test_loss_falls_and_resumes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            whole = run("--epochs", "3", "--output", one)
            self.assertLess(float(whole[-1]), 0.6 * float(whole[0]))
            # The schedule depends on the number of epochs, so that the first part ends as if it were interrupted.
            code = (
                "import train\nfrom training_project import trainer\n"
                "class Ends(Exception): pass\n"
                "save = trainer.Trainer.validate\n"
                "def validate(self):\n"
                "    if int(self.epoch.numpy()) == 2: raise Ends\n"
                "    return save(self)\n"
                "trainer.Trainer.validate = validate\n"
                "try: train.main(['--epochs', '3', '--output', {!r}])\n"
                "except Ends: pass\n"
            ).format(two)
            subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(run("--epochs", "3", "--output", two, "--resume"), whole[2:])


if __name__ == "__main__":
    unittest.main()
