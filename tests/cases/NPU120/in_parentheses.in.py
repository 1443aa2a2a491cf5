# Parentheses around what is compared, listed or called stay what they are, and stay balanced.
import torch

x = torch.ones(2).cuda()
print((x.device.type) == "cuda", "cuda" == (x.device.type), (x.device.type) != ("cuda"))
print((str(x.device)) == "cuda:0", x.device.type in (("cuda"), "mps"), x.device.type in ("mps", ("cuda")))
print(x.device.type in ["mps", ("cuda"),], x.device.type in {( "cuda" ), "cpu"})
SPEED = {("cuda"): ("fast"), "cpu": ("slow")}
print(SPEED[x.device.type])
text = str(x.device)
print((text)[5:], (text)[:5] == "cuda:", ( text )[:4] == "cuda", text.startswith((("cu"), "xpu")))
y = (torch.ones(2)).cuda()
z = (torch.ones(2).cuda)()
try:
    print(y + z)
except (torch.cuda).OutOfMemoryError:
    print("none left")
