"""A training project that runs on NPUs and on the CPU. Begin reading in train.py, then trainer.py."""
