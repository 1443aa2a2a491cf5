import os

os.environ["CUDA_VISIBLE_DEVICES"] = "1,0"
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
