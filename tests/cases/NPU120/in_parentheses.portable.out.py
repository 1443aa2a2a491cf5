# Parentheses around what is compared, listed or called stay what they are, and stay balanced.
import torch

import compute_device

x = torch.ones(2).to(compute_device.type)
print((x.device.type) == compute_device.type, compute_device.type == (x.device.type), (x.device.type) != (compute_device.type))
print((str(x.device)) == f"{compute_device.type}:0", x.device.type in (("cuda"), "npu", "mps"), x.device.type in ("mps", ("cuda"), "npu"))
print(x.device.type in ["mps", ("cuda"), "npu",], x.device.type in {( "cuda" ), "npu", "cpu"})
SPEED = {("cuda"): ("fast"), "npu": "fast", "cpu": ("slow")}
print(SPEED[x.device.type])
text = str(x.device)
print((text).partition(":")[2], (text).startswith(f"{compute_device.type}:"), ( text ).partition(":")[0] == compute_device.type, text.startswith((("cu"), "npu", "xpu")))
y = (torch.ones(2)).to(compute_device.type)
z = (getattr(torch.ones(2), compute_device.type))()
try:
    print(y + z)
except (torch.cuda).OutOfMemoryError:
    print("none left")
