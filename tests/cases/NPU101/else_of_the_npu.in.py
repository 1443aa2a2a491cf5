import torch


def free(is_npu):
    if is_npu:
        torch.npu.empty_cache()
    else:
        torch.cuda.empty_cache()


def wait(is_npu):
    if not is_npu:
        torch.cuda.synchronize()
