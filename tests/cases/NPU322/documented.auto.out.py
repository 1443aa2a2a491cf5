import torch
import mindspeed.megatron_adaptor  # noqa: F401
from megatron.training import pretrain

if __name__ == "__main__":
    pretrain()
