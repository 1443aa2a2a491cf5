#!/usr/bin/env bash
# A launcher of a single machine; CUDA_VISIBLE_DEVICES in a comment stays.
set -euo pipefail

export CUDA_VISIBLE_DEVICES=0,1,2,3   # four cards
export NCCL_SOCKET_IFNAME=eth0 NCCL_IB_DISABLE=1
export TORCH_NCCL_ASYNC_ERROR_HANDLING=3
export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,backend:cudaMallocAsync
export NCCL_BUFFSIZE=8388608
export NCCL_ALGO=Ring
export NCCL_DEBUG=WARN
export CUDA_DEVICE_MAX_CONNECTIONS=1

BACKEND=${1:-nccl}
DEVICE="cuda"
LOG="logs/cuda-nccl.txt"
GPUS=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)

if [ -z "${CUDA_VISIBLE_DEVICES:-}" ]; then
  echo "set CUDA_VISIBLE_DEVICES, or pass --device cuda" >&2
fi
if [[ "$DEVICE" == "cuda" ]]; then
  nvidia-smi
fi

ARGS=(
  --output "runs/cuda"          # a path
  --dist-backend "nccl"
)
OPTS="--epochs 10 \
  --dist-backend nccl --dist-url tcp://nccl.example:1234"

CUDA_VISIBLE_DEVICES=0 CUDA_LAUNCH_BLOCKING=1 python -u train.py "${ARGS[@]}" $OPTS \
  --distributed-backend=nccl --device "$DEVICE" --name cuda 2>&1 | tee "$LOG"
torchrun --standalone --nproc_per_node=gpu train.py --backend $BACKEND
CUDA_VISIBLE_DEVICES=-1 python -c "import torch; print(torch.cuda.device_count())"

mpirun -np 8 -x NCCL_SOCKET_IFNAME -x CUDA_VISIBLE_DEVICES=3,2 -x LD_LIBRARY_PATH python train.py
docker run --rm --gpus all -e CUDA_VISIBLE_DEVICES=0 project:cuda python train.py --backend nccl

cat > node.sh <<EOF
export NCCL_SOCKET_FAMILY=AF_INET
python train.py --dist-backend nccl
EOF
cat <<EOF
usage: train.sh [nccl|gloo]; --backend nccl needs CUDA_LAUNCH_BLOCKING unset
EOF
python - <<'EOF'
import torch

print(torch.cuda.is_available())
EOF
