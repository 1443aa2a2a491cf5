# What a device's text is made by says nothing of the device: format, % and str give the same.
import torch


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(3).cuda()


batch = next(iter(torch.utils.data.DataLoader(Data(), batch_size=2)))[0]
print("{}".format(batch.device).startswith("cuda"), "%s" % batch.device == "cuda:0", format(batch.device) == "cuda:0")
said = "{0}".format(batch.device)
print(said.startswith("cuda"), "{}".format(batch.device.type) == "cuda", "%s" % (batch.device.type,) == "cuda")
# Words of the program's own stay.
print("on {}".format("cuda"), "%s" % "cuda", "{} {}".format("cuda", 1))
