"""vLLM's own image and the command that it starts: Dockerfiles, compose files, manifests, ``docker run``."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output

CUDA, NPU = "vllm/vllm-openai", "quay.io/ascend/vllm-ascend"


def pod(containers: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n{containers}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--model m --port 80", "vllm serve m --port 80"),
        ("--model=m --port 80", "vllm serve m --port 80"),
        ("--port 80 --model m", "vllm serve m --port 80"),
        ("m --port 80", "vllm serve m --port 80"),
        ("--config /c.yaml", "vllm serve --config /c.yaml"),
        ("--model ${MODEL} --port 80", "vllm serve ${MODEL} --port 80"),
        ('["--model", "m", "--port", "80"]', '["vllm", "serve", "m", "--port", "80"]'),
        ('["--port", "80", "--model=m"]', '["vllm", "serve", "m", "--port", "80"]'),
        ("[--port, 80, --model, m]", "[vllm, serve, m, --port, 80]"),
        (
            "\n      - --model\n      - m\n      - --seed=1",
            "\n      - vllm\n      - serve\n      - m\n      - --seed=1",
        ),
        ('\n      - "--model=m"', '\n      - "vllm"\n      - "serve"\n      - "m"'),
        (
            "\n      - --seed=1\n      - --model\n      - m",
            "\n      - vllm\n      - serve\n      - m\n      - --seed=1",
        ),
        (">\n      --model m\n      --port 80", ">\n      vllm serve m\n      --port 80"),
    ],
)
def test_the_command_of_a_service_is_written_out(before: str, after: str) -> None:
    service = "services:\n  llm:\n    image: {}:v0.18.0\n    command: {}\n    ports: ['80:80']\n"
    assert output(service.format(CUDA, before), unsafe=True, name="compose.yaml") == service.format(NPU, after)


def test_a_service_with_an_entry_point_of_its_own_keeps_its_command() -> None:
    text = (
        f"services:\n  llm:\n    image: {CUDA}:v0.18.0\n    entrypoint: [python3, -m, vllm.entrypoints.openai.api_server]\n"
        "    command: [--model, m]\n"
    )
    assert output(text, unsafe=True, name="compose.yaml") == text.replace(CUDA, NPU)


def test_containers_of_one_pod_are_told_apart() -> None:
    before = pod(
        "  - args:\n    - --model\n    - m\n    image: vllm/vllm-openai:v0.18.0\n    name: a\n"
        '  - image: busybox\n    args: ["--model", "x"]\n'
        '  - image: vllm/vllm-openai:v0.18.0\n    command: ["/bin/sh", "-c"]\n    args: ["vllm serve m"]\n'
    )
    after = pod(
        f"  - args:\n    - vllm\n    - serve\n    - m\n    image: {NPU}:v0.18.0\n    name: a\n"
        '  - image: busybox\n    args: ["--model", "x"]\n'
        f'  - image: {NPU}:v0.18.0\n    command: ["/bin/sh", "-c"]\n    args: ["vllm serve m"]\n'
    )
    assert output(before, unsafe=True, name="pod.yaml") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "docker run -p 80:80 vllm/vllm-openai:v0.18.0 --model m --device cuda\n",
            f"docker run -p 80:80 {NPU}:v0.18.0 vllm serve m\n",
        ),
        (
            "docker run vllm/vllm-openai:latest \\\n  --seed 1 \\\n  --model $M\n",
            f"docker run {NPU}:v0.23.0 \\\n  vllm serve $M --seed 1\n",
        ),
        (
            "docker run --entrypoint bash vllm/vllm-openai:v0.18.0 -c 'vllm serve m'\n",
            f"docker run --entrypoint bash {NPU}:v0.18.0 -c 'vllm serve m'\n",
        ),
        ("docker pull vllm/vllm-openai:v0.18.0\n", f"docker pull {NPU}:v0.18.0\n"),
    ],
)
def test_docker_run_starts_the_server(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="run.sh") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"IMAGE={CUDA}:v0.11.0\ndocker run $IMAGE --model m --device cuda\n",
            f"IMAGE={NPU}:v0.11.0\ndocker run $IMAGE vllm serve m\n",
        ),
        (
            f'IMAGE="{CUDA}:v0.11.0"\ndocker pull "$IMAGE"\ndocker run $IMAGE --model m --device cuda\n',
            f'IMAGE="{CUDA}:v0.11.0"\ndocker pull "$IMAGE"\ndocker run $IMAGE --model m\n',
        ),
        ("IMAGE=mine:1\ndocker run $IMAGE --model m\n",) * 2,
    ],
)
def test_an_image_that_a_variable_of_a_script_holds(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="run.sh") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f'ARG IMAGE={CUDA}:v0.11.0\nFROM $IMAGE\nCMD ["--model", "m", "--device", "cuda"]\n',
            f'ARG IMAGE={NPU}:v0.11.0\nFROM $IMAGE\nCMD ["vllm", "serve", "m"]\n',
        ),
        (
            f'FROM {CUDA}:v0.11.0\nCMD ["--model", "m", "--device", "cuda"]\n',
            f'FROM {NPU}:v0.11.0\nCMD ["vllm", "serve", "m"]\n',
        ),
    ],
)
def test_a_base_that_an_argument_holds_whole(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="Dockerfile") == after
    assert len([one for one in findings(before, name="Dockerfile") if one.code == "NPU934"]) == 1


def test_an_image_that_is_the_default_of_a_variable() -> None:
    text = f"services:\n  llm:\n    image: ${{VLLM:-{CUDA}:v0.11.0}}\n    command: >\n      --model m\n      --device cuda\n    restart: no\n"
    assert output(text, unsafe=True, name="compose.yaml") == text.replace(CUDA, NPU).replace(
        "--model m\n      --device cuda\n", "vllm serve m\n"
    )


def test_the_runtime_of_nvidia_goes_where_the_devices_are_given() -> None:
    new = output("docker run --runtime nvidia --gpus device=0 image\n", unsafe=True, name="run.sh")
    assert new.startswith("docker run --device /dev/davinci0 ")
    assert "runtime" not in new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('CMD ["--model", "m"]\n', 'CMD ["vllm", "serve", "m"]\n'),
        ('CMD ["--port", "80", "--model=m"]\n', 'CMD ["vllm", "serve", "m", "--port", "80"]\n'),
        ('ENTRYPOINT ["python3", "main.py"]\n', 'ENTRYPOINT ["python3", "main.py"]\n'),
        ("RUN pip install x\n", 'RUN pip install x\nENTRYPOINT ["vllm", "serve"]\n'),
    ],
)
def test_an_image_that_stands_on_vllms(before: str, after: str) -> None:
    base = "FROM {}:v0.18.0\n"
    assert output(base.format(CUDA) + before, unsafe=True, name="Dockerfile") == base.format(NPU) + after


def test_the_version_of_the_base_may_be_an_argument() -> None:
    text = "ARG V={}\nFROM {}:${{V}}\nENTRYPOINT []\n"
    new = output(text.format("v0.10.2", CUDA), unsafe=True, name="Dockerfile")
    assert new == text.format("v0.10.2rc1", NPU)


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.27.1\n    command: --model m\n",  # no plug-in
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.26.0\n    command: --model m\n",  # not released
        "services:\n  llm:\n    image: vllm/vllm-openai:${TAG}\n    command: --model m\n",
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.18.0\n",  # nobody knows its model
        "services:\n  llm:\n    image: lmcache/vllm-openai:v0.3.1\n    command: m\n",
    ],
)
def test_what_cannot_be_told_is_left_to_a_person(text: str) -> None:
    assert output(text, unsafe=True, name="compose.yaml") == text
    (found,) = [one for one in findings(text, name="compose.yaml") if one.code == "NPU934"]
    assert found.safety is Safety.MANUAL


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'repository: "vllm/vllm-openai"\n  tag: latest\n',
            'repository: "quay.io/ascend/vllm-ascend"\n  tag: v0.23.0\n',
        ),
        (
            "registry: docker.io\n  repository: vllm/vllm-openai\n  tag: v0.11.0\n",
            "registry: quay.io\n  repository: ascend/vllm-ascend\n  tag: v0.11.0\n",
        ),
        ("repository: vllm/vllm-openai\n", "repository: vllm/vllm-openai\n"),
        ("repository: lmcache/vllm-openai\n  tag: v1\n", "repository: lmcache/vllm-openai\n  tag: v1\n"),
    ],
)
def test_the_values_of_a_chart(before: str, after: str) -> None:
    text = f"image:\n  {before}"
    assert output(text, unsafe=True, name="values.yaml") == f"image:\n  {after}"
    assert [one.code for one in findings(text, name="values.yaml")] == ["NPU934"]


def test_the_arguments_that_a_chart_hands_to_the_server() -> None:
    text = "image:\n  repository: vllm/vllm-openai\nvllmConfig:\n  extraArgs:\n{}    - --seed=1\n"
    new = output(text.format("    - --device\n    - cuda\n"), unsafe=True, name="values.yaml")
    assert new == text.format("")


def test_in_a_template_of_a_chart_the_command_tells_whose_the_arguments_are() -> None:
    chart = (
        "kind: Deployment\nspec:\n  containers:\n    - name: a\n      image: {{ .Values.image }}\n"
        '      command: ["vllm", "serve", "{{ .Values.model }}"]\n      args:\n'
    )
    size = '        {{- if .Values.size }}\n        - "--tensor-parallel-size={{ .Values.size }}"\n        {{- end }}\n'
    before = chart + '        - "--device=cuda"\n        - "--attention-backend"\n        - "FLASH_ATTN"\n' + size
    assert output(before, unsafe=True, name="templates/deployment.yaml") == chart + size


def test_arguments_of_a_chart_whose_image_is_given_in_a_table_are_vllms() -> None:
    head = f"image:\n  repository: {CUDA}\n  tag: v0.11.0\n"
    moved = f"image:\n  repository: {NPU}\n  tag: v0.11.0\n"
    for before, after in (
        ('args: ["--model", "m", "--device=cuda"]\n', 'args: ["vllm", "serve", "m"]\n'),
        ("args:\n  - --device\n  - cuda\n  - --model=m\n", "args:\n  - vllm\n  - serve\n  - m\n"),
        (
            'command: ["vllm", "serve"]\nargs: ["m", "--device=cuda"]\n',
            'command: ["vllm", "serve"]\nargs: ["m"]\n',
        ),
        ("replicas: 1\n",) * 2,
    ):
        assert output(head + before, unsafe=True, name="values.yaml") == moved + after
        assert output(moved + after, unsafe=True, name="values.yaml") == moved + after


def test_a_chart_that_asks_for_cards_by_number_is_told_their_resource() -> None:
    head = 'servingEngineSpec:\n  modelSpec:\n  - name: "opt"\n    modelURL: "facebook/opt-125m"\n'
    text = f"{head}    requestGPU: 1  # cards\n    requestCPU: 6\n"
    after = f'{head}    requestGPU: 1  # cards\n    requestGPUType: "huawei.com/Ascend910"\n    requestCPU: 6\n'
    assert output(text, unsafe=True, name="values.yaml") == after
    assert output(after, unsafe=True, name="values.yaml") == after
    for kept in (f"{head}    requestGPU: 0\n", "pool:\n  requestGPU: 1\n"):
        assert output(kept, unsafe=True, name="values.yaml") == kept


def test_options_of_another_container_of_a_pod_are_not_vllms() -> None:
    text = pod(
        "    - name: train\n      image: mine\n      command: [python, train.py, --device, cuda]\n"
        f'    - name: llm\n      image: {CUDA}:v0.11.0\n      args: ["--model", "m", "--device", "cuda"]\n'
    )
    told = [one.start.line for one in findings(text, name="pod.yaml") if one.subject.startswith("vllm: ")]
    assert told == [10]


RESERVED = "{resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}\n"
TRITON = "nvcr.io/nvidia/tritonserver:23.10-py3"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"docker run --gpus all -p 8000:8000 {TRITON} tritonserver --model-repository=/m\n", "start.sh"),
        (f"docker run --runtime=nvidia {TRITON}\ndocker run --gpus=1 {TRITON}-sdk perf_analyzer\n", "start.sh"),
        (
            f"services:\n  triton:\n    image: {TRITON}\n    runtime: nvidia\n    deploy: {RESERVED}",
            "compose.yaml",
        ),
        (f"services:\n  triton:\n    image: {TRITON}\n    gpus: all\n", "compose.yaml"),
        (
            pod(
                f"    - name: triton\n      image: {TRITON}\n      resources:\n        limits:\n          nvidia.com/gpu: 1\n"
            ),
            "pod.yaml",
        ),
    ],
)
def test_a_server_without_a_build_gets_no_npus(text: str, name: str) -> None:
    assert output(text, unsafe=True, name=name) == text
    told = {one.code for one in findings(text, name=name)}
    assert "NPU934" in told and told & {"NPU711", "NPU721", "NPU722"}


def test_what_stands_beside_such_a_server_gets_its_npus() -> None:
    text = pod(
        f"    - name: triton\n      image: {TRITON}\n      resources:\n        limits:\n          nvidia.com/gpu: 1\n"
        "    - name: app\n      image: mine\n      resources:\n        limits:\n          nvidia.com/gpu: 2\n"
    )
    assert output(text, unsafe=True, name="pod.yaml") == text.replace("nvidia.com/gpu: 2", "huawei.com/Ascend910: 2")
