from absl import flags

flags.DEFINE_string("device", "cuda", "where to run")
flags.DEFINE_enum("base_device", "cuda", ["cuda", "cpu"], "where to run")
