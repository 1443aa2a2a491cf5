"""Runs the network: the copy of the next batch overlaps the computation of this one."""

import torch

from .model import BlobNet


def load_model(path: str, device: torch.device, half: bool = False) -> BlobNet:
    # the file may come from a training machine with more cards than this one
    state = torch.load(path, map_location={"cuda:%d" % i: str(device) for i in range(8)})
    model = BlobNet(state["channels"])
    model.load_state_dict(state["model"])
    model.to(device)
    if half:
        model.half()
    return model.eval()


class Engine:
    def __init__(self, path: str, device: torch.device, half: bool = False):
        self.device = device
        self.half = half and device.type == "cuda"
        self.model = load_model(path, device, self.half)
        self.copy_stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def upload(self, batch: torch.Tensor) -> torch.Tensor:
        if self.copy_stream is None:
            return batch
        with torch.cuda.stream(self.copy_stream):
            batch = batch.pin_memory().cuda(self.device, non_blocking=True)
            return batch.half() if self.half else batch

    @torch.inference_mode()
    def run(self, images: torch.Tensor, batch_size: int) -> torch.Tensor:
        results = []
        pieces = images.split(batch_size)
        following = self.upload(pieces[0])
        for i in range(len(pieces)):
            if self.copy_stream is not None:
                torch.cuda.current_stream(self.device).wait_stream(self.copy_stream)
            batch = following
            if batch.is_cuda:
                batch.record_stream(torch.cuda.current_stream(self.device))
            if i + 1 < len(pieces):
                following = self.upload(pieces[i + 1])
            results.append(self.model(batch).float().cpu())
        return torch.cat(results)
