USAGE = "CUDA_VISIBLE_DEVICES=0,1 python train.py"
print("set CUDA_VISIBLE_DEVICES first", USAGE)
