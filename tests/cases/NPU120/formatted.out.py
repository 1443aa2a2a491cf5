# What a device's text is made by says nothing of the device: format, % and str give the same.
import torch
import torch_npu  # noqa: F401


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(3).npu()


batch = next(iter(torch.utils.data.DataLoader(Data(), batch_size=2)))[0]
print("{}".format(batch.device).startswith("npu"), "%s" % batch.device == "npu:0", format(batch.device) == "npu:0")
said = "{0}".format(batch.device)
print(said.startswith("npu"), "{}".format(batch.device.type) == "npu", "%s" % (batch.device.type,) == "npu")
# Words of the program's own stay.
print("on {}".format("cuda"), "%s" % "cuda", "{} {}".format("cuda", 1))
