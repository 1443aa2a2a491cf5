import re

import torch
import torch_npu  # noqa: F401

PLACES = re.compile("^(?:cuda|npu)")


def places(named):
    return [name for name in named if PLACES.search(name)], re.match("(?:cuda|npu)", f"{named[0]}")


def others(message):
    # What an error says, or a file is called, is no device's name.
    return re.search("cuda", message), re.compile("cuda")


print(places([torch.ones(2).npu().device]))
