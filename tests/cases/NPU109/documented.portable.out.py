import re

def number(device: str) -> int:
    if re.fullmatch(r"(?:cuda|npu):\d+", device):
        return int(device.partition(":")[2])
    return 0
