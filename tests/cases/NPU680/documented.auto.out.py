import torch
signal = torch.randn(1, 4000)
spectrum = torch.view_as_real(torch.stft(signal, 512, hop_length=128, return_complex=True))
magnitude = spectrum.pow(2).sum(-1).sqrt()
