import torch
import torch_npu  # noqa: F401

device = torch.device("npu:0" if torch.npu.is_available() else "cpu")
host = torch.device("cpu")


def there(x: torch.Tensor, y) -> list:
    return [
        x.device == torch.device("npu", 0),
        torch.device("npu:0").type == x.device.type,
        str(x.device) != str(torch.device("npu:1")),
        x.device.type == device.type,  # told of: the device is used elsewhere, too
        x.device == host,
        device == torch.device("npu:0"),
        y.place == torch.device("npu:0"),
        "npu" in str(x.device),
        "npu" not in str(y.device),
        "npu" in str(device),
        "cuda" in y.names,
    ]


if __name__ == "__main__":
    print(there(torch.ones(3).to(device), None))
