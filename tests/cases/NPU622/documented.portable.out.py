import compute_device
if compute_device.type == "npu":
    from npuify_scatter import scatter_add
else:
    from torch_scatter import scatter_add

def pool(x, index):
    return scatter_add(x, index, dim=0)
