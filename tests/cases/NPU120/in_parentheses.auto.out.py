# Parentheses around what is compared, listed or called stay what they are, and stay balanced.
import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(2).cuda()
print((x.device.type) in ("cuda", "npu"), x.device.type in ("cuda", "npu"), (x.device.type) not in (("cuda", "npu")))
print((str(x.device)) in ("cuda:0", "npu:0"), x.device.type in (("cuda"), "npu", "mps"), x.device.type in ("mps", ("cuda"), "npu"))
print(x.device.type in ["mps", ("cuda"), "npu",], x.device.type in {( "cuda" ), "npu", "cpu"})
SPEED = {("cuda"): ("fast"), "npu": "fast", "cpu": ("slow")}
print(SPEED[x.device.type])
text = str(x.device)
print((text).partition(":")[2], (text).startswith(("cuda:", "npu:")), ( text ).partition(":")[0] in ("cuda", "npu"), text.startswith((("cu"), "npu", "xpu")))
y = (torch.ones(2)).cuda()
z = (torch.ones(2).cuda)()
try:
    print(y + z)
except (torch.cuda).OutOfMemoryError:
    print("none left")
