import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
host = torch.device("cpu")


def there(x: torch.Tensor, y) -> list:
    return [
        x.device == torch.device("cuda", 0),
        torch.device("cuda:0").type == x.device.type,
        str(x.device) != str(torch.device("cuda:1")),
        x.device.type == device.type,  # told of: the device is used elsewhere, too
        x.device == host,
        device == torch.device("cuda:0"),
        y.place == torch.device("cuda:0"),
        "cuda" in str(x.device),
        "cuda" not in str(y.device),
        "cuda" in str(device),
        "cuda" in y.names,
    ]


if __name__ == "__main__":
    print(there(torch.ones(3).to(device), None))
