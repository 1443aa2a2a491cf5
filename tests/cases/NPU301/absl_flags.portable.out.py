from absl import flags

import compute_device

flags.DEFINE_string("backend", compute_device.dist_backend, "for torch.distributed")
