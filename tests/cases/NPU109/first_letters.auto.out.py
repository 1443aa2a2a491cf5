import re

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(2).cuda()
text = str(x.device)
print(text.startswith(("cu", "npu")), x.device.type.startswith(("cud", "npu", "xpu")), not text.startswith(('cu', 'npu')))
print(text[:2] == "cu", "cu" in text, re.match("cu", text))

unknown = torch.load("state.pt")["x"]
said = f"{unknown.device}"
print(said.startswith(("cu", "npu")))

chosen = next(filter(lambda kind: kind.startswith(("cu", "npu")), ["cpu", "cuda"]))
print(torch.ones(2).to(chosen))

# No devices: a wheel, a version, gates, files.
wheel = "cu118"
print(wheel.startswith("cu"), [gate for gate in ("cx", "cu") if gate == "cu"], "a.cu".endswith("cu"))


def is_cuda_wheel(version: str) -> bool:
    return version[:2] == "cu"


joined = "cu" + "da"
print(torch.ones(2).to(joined), "cu" + "118", "cud" + "d")
print(torch.ones(2).to("".join(["cu", "da"])), "-".join(["cu", "da"]))
