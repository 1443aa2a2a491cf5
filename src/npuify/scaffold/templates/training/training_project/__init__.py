"""A training project that runs on NPUs and on the CPU. Start reading in train.py, then trainer.py."""
