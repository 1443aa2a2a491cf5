from unittest import mock

with mock.patch("torch.cuda.comm.broadcast"):
    pass
