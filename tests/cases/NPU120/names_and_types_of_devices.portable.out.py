import torch

import compute_device

device = torch.device(f"{compute_device.type}:0" if compute_device.api.is_available() else "cpu")
host = torch.device("cpu")


def there(x: torch.Tensor, y) -> list:
    return [
        x.device == torch.device(compute_device.type, 0),
        torch.device(f"{compute_device.type}:0").type == x.device.type,
        str(x.device) != str(torch.device(f"{compute_device.type}:1")),
        x.device.type == device.type,  # told of: the device is used elsewhere, too
        x.device == host,
        device == torch.device(f"{compute_device.type}:0"),
        y.place == torch.device(f"{compute_device.type}:0"),
        compute_device.type in str(x.device),
        compute_device.type not in str(y.device),
        compute_device.type in str(device),
        "cuda" in y.names,
    ]


if __name__ == "__main__":
    print(there(torch.ones(3).to(device), None))
