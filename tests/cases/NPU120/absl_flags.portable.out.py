from absl import flags

import compute_device

flags.DEFINE_string("device", compute_device.type, "where to run")
flags.DEFINE_enum("base_device", compute_device.type, [compute_device.type, "cpu"], "where to run")
