"""The project's own C++, CUDA and Triton code."""
