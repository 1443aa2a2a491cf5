"""Files of C++ and CUDA: their functions, what their code uses, and what they hand to Python."""
