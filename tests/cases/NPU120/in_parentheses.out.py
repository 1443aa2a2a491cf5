# Parentheses around what is compared, listed or called stay what they are, and stay balanced.
import torch
import torch_npu  # noqa: F401

x = torch.ones(2).npu()
print((x.device.type) == "npu", "npu" == (x.device.type), (x.device.type) != ("npu"))
print((str(x.device)) == "npu:0", x.device.type in (("npu"), "mps"), x.device.type in ("mps", ("npu")))
print(x.device.type in ["mps", ("npu"),], x.device.type in {( "npu" ), "cpu"})
SPEED = {("npu"): ("fast"), "cpu": ("slow")}
print(SPEED[x.device.type])
text = str(x.device)
print((text).partition(":")[2], (text).startswith("npu:"), ( text ).partition(":")[0] == "npu", text.startswith((("cu"), "npu", "xpu")))
y = (torch.ones(2)).npu()
z = (torch.ones(2).npu)()
try:
    print(y + z)
except torch.OutOfMemoryError:
    print("none left")
