from absl import flags

flags.DEFINE_string("backend", "hccl", "for torch.distributed")
