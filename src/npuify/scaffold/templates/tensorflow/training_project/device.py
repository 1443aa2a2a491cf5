"""The NPU of this process, or the CPU where there is none. Imported before anything that makes a ``tf.function``."""

import importlib.util
import os

import tensorflow as tf

if importlib.util.find_spec("npu_device") is not None:
    import npu_device
else:
    npu_device = None


class Device:
    """What the program runs on.

    Attributes:
        rank: of this process; there is one process for each card.
        size: how many there are.
    """

    def __init__(self, precision=""):
        """Open the device.

        Args:
            precision: the adapter's ``precision_mode_v2``, such as ``mixed_float16``; empty leaves the chip's default.
        """
        self.rank, self.size = 0, 1
        if npu_device is None:
            if int(os.environ.get("RANK_SIZE", os.environ.get("CM_WORKER_SIZE", "1"))) > 1:
                raise SystemExit("several ranks need the adapter, npu_device, which this Python does not have")
            return
        if precision:
            npu_device.global_options().precision_mode_v2 = precision  # options are read as the device opens
        handle = npu_device.open().as_default()
        self.rank, self.size = handle.worker_id, handle.workers_num

    @property
    def name(self):
        return "CPU" if npu_device is None else "NPU"

    def mean(self, values):
        """The mean of tensors over all ranks."""
        return npu_device.distribute.all_reduce(values, reduction="mean") if self.size > 1 else values

    def share(self, variables):
        """Give all ranks the variables of the first. They have to exist already."""
        if self.size > 1:
            npu_device.distribute.broadcast(variables, root_rank=0)

    def shard(self, dataset, batch_size):
        """This rank's part of a dataset, and of a batch.

        Raises:
            SystemExit: the batch cannot be divided by the number of ranks.
        """
        if batch_size % self.size:
            raise SystemExit("--batch-size {} cannot be divided by {} ranks".format(batch_size, self.size))
        if self.size == 1:
            return dataset, batch_size
        return dataset.shard(self.size, self.rank), batch_size // self.size


def set_seed(seed):
    """The same random numbers on every rank and in every run."""
    tf.random.set_seed(seed)
