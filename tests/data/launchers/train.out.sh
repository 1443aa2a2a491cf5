#!/usr/bin/env bash
# A launcher of a single machine; CUDA_VISIBLE_DEVICES in a comment stays.
set -euo pipefail

export ASCEND_RT_VISIBLE_DEVICES=0,1,2,3   # four cards
export HCCL_SOCKET_IFNAME=eth0 NCCL_IB_DISABLE=1
export HCCL_ASYNC_ERROR_HANDLING=1
export PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:512
export HCCL_BUFFSIZE=8
export HCCL_ALGO="level0:NA;level1:ring"
export ASCEND_GLOBAL_LOG_LEVEL=2
export CUDA_DEVICE_MAX_CONNECTIONS=1

BACKEND=${1:-hccl}
DEVICE="npu"
LOG="logs/cuda-nccl.txt"
GPUS=$(ls -d /dev/davinci[0-9]* | wc -l)

if [ -z "${ASCEND_RT_VISIBLE_DEVICES:-}" ]; then
  echo "set CUDA_VISIBLE_DEVICES, or pass --device cuda" >&2
fi
if [[ "$DEVICE" == "npu" ]]; then
  npu-smi info
fi

ARGS=(
  --output "runs/cuda"          # a path
  --dist-backend "hccl"
)
OPTS="--epochs 10 \
  --dist-backend hccl --dist-url tcp://nccl.example:1234"

ASCEND_RT_VISIBLE_DEVICES=0 ASCEND_LAUNCH_BLOCKING=1 python -u train.py "${ARGS[@]}" $OPTS \
  --distributed-backend=hccl --device "$DEVICE" --name cuda 2>&1 | tee "$LOG"
torchrun --standalone --nproc_per_node=npu train.py --backend $BACKEND
ASCEND_RT_VISIBLE_DEVICES= python -c "import torch_npu; import torch; print(torch.npu.device_count())"

mpirun -np 8 -x HCCL_SOCKET_IFNAME -x ASCEND_RT_VISIBLE_DEVICES=2,3 -x LD_LIBRARY_PATH python train.py
docker run --rm $(printf -- '--device %s ' /dev/davinci[0-9]*) --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/dcmi:/usr/local/dcmi:ro -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro -v /etc/ascend_install.info:/etc/ascend_install.info:ro -e ASCEND_RT_VISIBLE_DEVICES=0 project:cuda python train.py --backend hccl

cat > node.sh <<EOF
export HCCL_SOCKET_FAMILY=AF_INET
python train.py --dist-backend hccl
EOF
cat <<EOF
usage: train.sh [nccl|gloo]; --backend nccl needs CUDA_LAUNCH_BLOCKING unset
EOF
python - <<'EOF'
import torch_npu
import torch

print(torch.npu.is_available())
EOF
