import torch as th
from torch import stft


class Spectrum:
    def forward(self, audio, window):
        fft = th.view_as_real(th.stft(
            audio,
            n_fft=512,
            window=window,
            center=False, return_complex=True,
        ))
        real, imag = fft.unbind(-1)
        whole = th.stft(audio, 512, return_complex=True)
        told = th.stft(audio, 512, return_complex=False)
        parts = th.view_as_real(th.stft(audio, 512, return_complex=True))[..., 0]
        return real, imag, whole, told, parts, stft(audio, 512), audio.stft(512), th.stft(audio, **self.options)
