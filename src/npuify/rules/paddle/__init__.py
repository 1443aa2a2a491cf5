"""Rules for programs on PaddlePaddle."""
