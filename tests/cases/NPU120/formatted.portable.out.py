# What a device's text is made by says nothing of the device: format, % and str give the same.
import torch

import compute_device


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(3).to(compute_device.type)


batch = next(iter(torch.utils.data.DataLoader(Data(), batch_size=2)))[0]
print("{}".format(batch.device).startswith(compute_device.type), "%s" % batch.device == f"{compute_device.type}:0", format(batch.device) == f"{compute_device.type}:0")
said = "{0}".format(batch.device)
print(said.startswith(compute_device.type), "{}".format(batch.device.type) == compute_device.type, "%s" % (batch.device.type,) == compute_device.type)
# Words of the program's own stay.
print("on {}".format("cuda"), "%s" % "cuda", "{} {}".format("cuda", 1))
