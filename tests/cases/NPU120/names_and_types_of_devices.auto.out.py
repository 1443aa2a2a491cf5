import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
host = torch.device("cpu")


def there(x: torch.Tensor, y) -> list:
    return [
        x.device == torch.device("npu", 0),
        torch.device("npu:0").type == x.device.type,
        str(x.device) != str(torch.device("npu:1")),
        x.device.type == device.type,  # told of: the device is used elsewhere, too
        x.device == host,
        device == torch.device("cuda:0"),
        y.place == torch.device("cuda:0"),
        any(kind in str(x.device) for kind in ("cuda", "npu")),
        not any(kind in str(y.device) for kind in ("cuda", "npu")),
        "cuda" in str(device),
        "cuda" in y.names,
    ]


if __name__ == "__main__":
    print(there(torch.ones(3).to(device), None))
