"""Releases that do not fit, installers without a network, and what schedulers, containers and the kernel write."""

from __future__ import annotations

import pytest

from npuify.diagnosis.model import Confidence

from .samples import diagnosed
from .test_noise import AFTER, BEFORE

HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'
REMOTE = (
    '  File "/home/user/.cache/huggingface/modules/transformers_modules/m/modeling_m.py", line 8, in forward\n    x()\n'
)


def _in(package: str, file: str = "a.py") -> str:
    return f'  File "/e/lib/python3.10/site-packages/{package}/{file}", line 7, in f\n    x()\n'


RELEASES = [
    (HEAD + REMOTE + "AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'\n", "version-mismatch"),
    (HEAD + REMOTE + "TypeError: forward() got an unexpected keyword argument 'cache_position'\n", "version-mismatch"),
    (HEAD + REMOTE + "ImportError: cannot import name 'is_torch_fx_available' from 'transformers.utils'\n", "version-mismatch"),
    (HEAD + _in("peft") + "TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'\n", "version-mismatch"),
    (HEAD + _in("vllm") + "AttributeError: 'Qwen3Config' object has no attribute 'rope_theta'\n", "version-mismatch"),
    (HEAD + _in("diffusers") + "AttributeError: module 'huggingface_hub' has no attribute 'cached_download'\n", "version-mismatch"),
    (HEAD + _in("transformers", "models/auto/configuration_auto.py") + "KeyError: 'qwen3_moe'\n", "version-mismatch"),
    # The program's own calls, and what packages only pass on, stay the program's.
    (HEAD + "TypeError: Trainer.__init__() got an unexpected keyword argument 'evalution_strategy'\n", "script-error"),
    (HEAD + "AttributeError: 'Config' object has no attribute 'lr'\n", "script-error"),
    (HEAD + _in("torch", "nn/modules/module.py") + "TypeError: forward() got an unexpected keyword argument 'mask'\n", "script-error"),
    (HEAD + _in("vllm") + "AttributeError: 'NoneType' object has no attribute 'shape'\n", "script-error"),
    (HEAD + _in("transformers", "data/data_collator.py") + "KeyError: 'labels'\n", "script-error"),
    (
        ('Collecting foo\n      Traceback (most recent call last):\n        File "/tmp/pip-install-k2x/foo_1f3ab9/setup.py", line 20, in <module>\n'
        "          import torch\n      ModuleNotFoundError: No module named 'torch'\nerror: metadata-generation-failed\n"),
        "build-setup",
    ),
    (
        ("WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by"
        " 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new"
        " connection: [Errno -2] Name or service not known')': /simple/torch/\n"
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\n"
        "ERROR: No matching distribution found for torch\n"),
        "no-network",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("log", "cause"), RELEASES)
def test_calls_that_a_release_refuses(log: str, cause: str) -> None:
    found = diagnosed(log)
    assert found.cause == cause and found.why and found.fix
    # pip runs before launchers do; the others stand among what launchers write as well.
    if "pip" not in log:
        assert diagnosed(BEFORE + "".join(f"[rank0]: {line}\n" for line in log.splitlines()) + AFTER).cause == cause


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        # Kubernetes and Volcano
        ("Warning  Evicted  2m  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi.\n", "host-memory"),
        ("Warning  Evicted  2m  kubelet  The node was low on resource: ephemeral-storage. Container main was using 40Gi.\n", "disk-full"),
        ("Warning  Evicted  2m  kubelet  Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.\n", "disk-full"),
        ("Warning  Evicted  3m  kubelet  The node had condition: [DiskPressure].\n", "disk-full"),
        ("    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n", "host-memory"),
        ("Warning UnexpectedAdmissionError 5s kubelet Allocate failed due to can't allocate unregistered device huawei.com/Ascend910, which is unexpected\n", "driver-not-visible"),
        ('Allocate failed due to rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /var/lib/kubelet/device-plugins/Ascend910.sock: connect: no such file or directory"\n', "driver-not-visible"),
        ('connection error: desc = "transport: Error while dialing dial unix /var/lib/kubelet/device-plugins/nvidia-gpu.sock: connect: connection refused". Reconnecting...\n', "cuda-machine"),
        ("Warning UnexpectedAdmissionError 5s kubelet Allocate failed due to requested number of devices unavailable for huawei.com/Ascend910. Requested: 8, Available: 6\n", "not-scheduled"),
        ('pods "a" is forbidden: exceeded quota: team, requested: requests.huawei.com/Ascend910=8, used: 8, limited: 8\n', "not-scheduled"),
        ("Warning  Unschedulable  3s  volcano  3/4 tasks in gang unschedulable: pod group is not ready, 4 minAvailable, 3 Pending\n", "not-scheduled"),
        ("0/1 nodes are unavailable: 1 node(s) didn't match Pod's node affinity/selector.\n", "not-scheduled"),
        ('Failed to pull image "r/x:1": rpc error: code = NotFound desc = failed to resolve reference "r/x:1": r/x:1: not found\n', "no-such-version"),
        ('Error: ErrImageNeverPull\nContainer image "x:1" is not present with pull policy of Never\n', "no-such-version"),
        ("Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data]: timed out waiting for the condition\n", "storage-failed"),
        ("Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded\n", "storage-failed"),
        ("Container main failed liveness probe, will be restarted\n", "killed"),
        ("Warning  Preempted  3s  volcano  Preempted by pod x on node y\n", "interrupted"),
        ("DeadlineExceeded: Job was active longer than specified deadline\n", "interrupted"),
        # docker
        ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n', "cuda-left"),
        ("docker: Error response from daemon: unknown or invalid runtime name: ascend.\n", "driver-not-visible"),
        ("docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n", "cuda-left"),
        ("docker: Error response from daemon: driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:8000 failed: port is already allocated.\n", "port-in-use"),
        ('docker: Error response from daemon: Conflict. The container name "/x" is already in use by container "abc".\n', "usage"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n", "usage"),
        ('Error: OCI runtime create failed: runc create failed: unable to start container process: exec: "train.sh": executable file not found in $PATH: unknown\n', "usage"),
        ('Error: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/w/train.sh": permission denied: unknown\n', "usage"),
        ('docker: Error response from daemon: Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers).\n', "no-network"),
        # Slurm, LSF, PBS, MPI
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***\n", "interrupted"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO PREEMPTION ***\n", "interrupted"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n", "killed"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.\n", "host-memory"),
        ("srun: error: Unable to create step for job 12: More processors requested than permitted\n", "not-scheduled"),
        ("srun: error: execve(): python3: No such file or directory\n", "usage"),
        ("slurmstepd: error: couldn't chdir to `/home/u/x': No such file or directory: going to /tmp instead\n", "usage"),
        ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n", "host-memory"),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", "interrupted"),
        ("mpirun noticed that process rank 3 with PID 1234 on node n1 exited on signal 9 (Killed).\n", "killed"),
        ("mpirun has detected an attempt to run as root.\n", "usage"),
        ("prterun has detected an attempt to run as root.\n", "usage"),
        ("There are not enough slots available in the system to satisfy the 8 slots that were requested\n", "usage"),
        # the kernel
        ("[ 123.4] nfs: server 10.0.0.1 not responding, timed out\n", "storage-failed"),
        ("[ 123.4] EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python: reading directory lblock 0\n", "storage-failed"),
        ('[ 123.4] XFS (vda4): metadata I/O error in "xfs_dquot_disk_read+0x14a/0x220 [xfs]" at daddr 0x1478 len 8 error 74\n', "storage-failed"),
        ("[ 123.4] XFS (dm-11): Corruption of in-memory data detected.  Shutting down filesystem\n", "storage-failed"),
        ("[ 123.4] BTRFS error (device sdc3): bad tree block start, want 5292032 have 0\n", "storage-failed"),
        ("[ 123.4] BTRFS critical (device sdc3): corrupt leaf: root=2 block=1 slot=0\n", "storage-failed"),
        ("[ 123.4] python3[4121]: segfault at 0 ip 00007f00 sp 00007fff error 4 in libtorch_npu.so[7f00+100000]\n", "crash"),
        ("modprobe: FATAL: Module drv_davinci not found in directory /lib/modules/5.10.0\n", "driver-install"),
        ("insmod: ERROR: could not insert module drv_vascend.ko: Invalid module format\n", "driver-install"),
        ("insmod: ERROR: could not insert module drv_vascend.ko: Key was rejected by service\n", "driver-install"),
        ("nvidia: version magic '5.15.0-25-generic SMP' should be '5.15.0-26-generic SMP'\n", "cuda-machine"),
        ("bash: fork: retry: Resource temporarily unavailable\n", "system-limits"),
        ("libgomp: Thread creation failed: Resource temporarily unavailable\n", "system-limits"),
        # Ray
        ("[2025-07-23 10:05:49,679 W 51000 51000] gcs_rpc_client.h:151: Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.\n", "link-setup"),
        (HEAD + "RuntimeError: can't start new thread\n", "system-limits"),
    ],
)  # fmt: skip
def test_what_schedulers_containers_and_the_kernel_write(log: str, cause: str) -> None:
    found = diagnosed(log)
    assert found.cause == cause
    assert found.confidence is not Confidence.UNKNOWN and found.fix


def test_a_store_that_is_called_gcs_is_not_ray() -> None:
    assert diagnosed(HEAD + "RuntimeError: Could not connect to GCS: 403 Forbidden\n").cause != "link-setup"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("transformers 5.0 requires numpy<2.0; python_version < '3.12', but you have numpy 2.1.0 which is incompatible.", "version-mismatch"),
        ("Pipeline requires the 🤗 Datasets library but it was not found in your environment. You can install it with:", "missing-package"),
        ("ValueError: You need to have sentencepiece or tiktoken installed to convert a slow tokenizer to a fast one.", "missing-package"),
        ("ImportError: Loading an AWQ quantized model requires gptqmodel. Please install it with `pip install gptqmodel`", "quantization-of-cuda"),
    ],
)  # fmt: skip
def test_what_packages_say_of_one_another(line: str, cause: str) -> None:
    assert diagnosed(HEAD + line + "\n").cause == cause
