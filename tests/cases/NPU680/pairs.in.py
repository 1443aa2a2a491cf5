import torch as th
from torch import stft


class Spectrum:
    def forward(self, audio, window):
        fft = th.stft(
            audio,
            n_fft=512,
            window=window,
            center=False,
        )
        real, imag = fft.unbind(-1)
        whole = th.stft(audio, 512, return_complex=True)
        told = th.stft(audio, 512, return_complex=False)
        parts = th.stft(audio, 512)[..., 0]
        return real, imag, whole, told, parts, stft(audio, 512), audio.stft(512), th.stft(audio, **self.options)
