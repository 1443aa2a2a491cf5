from absl import flags

flags.DEFINE_string("backend", "nccl", "for torch.distributed")
