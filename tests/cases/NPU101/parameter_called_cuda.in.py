def move(batch, cuda=True):
    if cuda:
        batch = [item for item in batch]
    return batch


class Settings:
    cuda = False
    cuda_graph = None


print(Settings.cuda, Settings.cuda_graph)
