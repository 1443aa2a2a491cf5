import torch


def start(options):
    if torch.cuda.is_available():
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
    else:
        torch.set_default_tensor_type(torch.FloatTensor)
    if options.half: torch.set_default_tensor_type("torch.cuda.HalfTensor")
    torch.set_default_tensor_type("torch.cuda.FloatTensor" if options.gpu else "torch.FloatTensor")  # the card, if asked for
