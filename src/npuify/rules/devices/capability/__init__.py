"""What a program asks of the hardware and its CUDA: capability, versions of CUDA and NCCL."""
