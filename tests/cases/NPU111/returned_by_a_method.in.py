import torch


class Backend:
    @property
    def is_cuda(self):
        return False


class Engine:
    def upload(self, batch: torch.Tensor):
        batch = batch.pin_memory().cuda(non_blocking=True)
        return batch.half() if self.half else batch

    def run(self, images):
        following = self.upload(images[0])
        for piece in images:
            batch = following
            if batch.is_cuda:
                print(batch)
            following = self.upload(piece)
