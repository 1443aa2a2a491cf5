from absl import flags

flags.DEFINE_string("device", "npu", "where to run")
flags.DEFINE_enum("base_device", "npu", ["npu", "cpu"], "where to run")
