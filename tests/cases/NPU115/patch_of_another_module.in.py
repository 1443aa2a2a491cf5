from unittest import mock

with mock.patch("numba.cuda.is_available", return_value=True), mock.patch("mine.torch.cuda"):
    pass
