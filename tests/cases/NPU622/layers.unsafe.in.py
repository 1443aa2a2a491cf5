import torch
import bitsandbytes as bnb


def layer(size, params):
    return bnb.nn.Linear4bit(size, size), bnb.optim.AdamW8bit(params), bnb.optim.LAMB8bit(params)
