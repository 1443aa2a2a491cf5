# mypy: ignore-errors
"""What warpctc_pytorch computes, by PyTorch's own connectionist temporal classification."""

from torch import nn
from torch.nn import functional


class CTCLoss(nn.Module):
    """The loss of scores (length, batch, classes), summed over the batch; the softmax is taken here.

    It lies where the scores do, while that of warpctc_pytorch lies on the CPU.
    """

    def __init__(self, blank=0, size_average=False, length_average=False):
        super().__init__()
        self.blank = blank
        self.size_average = size_average
        self.length_average = length_average

    def forward(self, acts, labels, act_lens, label_lens):
        """``labels``: those of all sequences behind each other; gives one number in a row."""
        scores = functional.log_softmax(acts.float(), dim=2)
        labels = labels.to(scores.device)
        loss = functional.ctc_loss(scores, labels, act_lens, label_lens, self.blank, reduction="sum").reshape(1)
        if self.length_average:
            return loss / act_lens.sum().item()
        return loss / acts.shape[1] if self.size_average else loss
