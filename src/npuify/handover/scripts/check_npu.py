"""Says whether a program can compute on an NPU here: python check_npu.py"""

import sys

import torch

try:
    import torch_npu
except ImportError as error:
    sys.exit(f"torch_npu cannot be imported: {error}\nIs it installed, and is CANN's set_env.sh sourced in this shell?")

if not torch.npu.is_available():
    sys.exit("torch_npu sees no NPU: npu-smi info, ASCEND_RT_VISIBLE_DEVICES, and /dev/davinci* tell why")

torch.manual_seed(0)
left = torch.randn(64, 64, device="npu", requires_grad=True)
right = torch.randn(64, 64, device="npu")
(left @ right).square().mean().backward()
expected = 2 * (left.detach().cpu() @ right.cpu()) @ right.cpu().T / 64**2
difference = (left.grad.cpu() - expected).abs().max().item()
if difference > 1e-2:
    sys.exit(f"a product of matrices and its gradient differ from the CPU's by {difference}")

kind = "simulated NPUs" if "simulated" in torch_npu.__version__ else "NPUs"
print(f"npu ok: {torch.npu.device_count()} {kind}, torch {torch.__version__}, torch_npu {torch_npu.__version__}")
