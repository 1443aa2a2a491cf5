"""Train. On one card: python train.py; on eight: torchrun --nproc_per_node 8 train.py, or scripts/train.sh."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from torch.distributed.elastic.multiprocessing.errors import record

from training_project import checkpoint, monitor, processes
from training_project import config as settings
from training_project.trainer import Trainer, TrainingError

log = logging.getLogger("train")


@record
def main() -> int:
    """Run the program; @record tells torchrun which process failed first, and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path(__file__).parent / "configs" / "base.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.NAME=VALUE", help="change one setting")
    parser.add_argument("--resume", metavar="FILE", help="a checkpoint to go on from; auto: the newest, if any")
    arguments = parser.parse_args()
    try:
        config = settings.load(arguments.config, arguments.set)
    except settings.ConfigError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    with processes.joined(config.train.device) as process:
        monitor.configure_logging(process)
        try:
            resume = arguments.resume
            found = checkpoint.newest(Path(config.train.output)) if resume == "auto" else resume and Path(resume)
            Trainer(config, process).run(found or None)
        except (TrainingError, checkpoint.CheckpointError) as error:
            log.error("%s", error)
            return 1
        except Exception:
            log.exception("failed on %s", process.device)
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
