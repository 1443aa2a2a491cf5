# npuify for CI: no PyTorch, no CANN, no root.
#
#     docker build -t npuify .
#     docker run --rm -v "$PWD:/project" npuify scan .
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY skills skills
COPY examples examples
RUN python -m venv /opt/npuify \
    && /opt/npuify/bin/pip install --no-cache-dir --disable-pip-version-check . \
    && /opt/npuify/bin/pip uninstall -q -y pip

FROM python:${PYTHON}-slim
# --diff-base asks git; the mounted project belongs to somebody else.
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /project \
    && useradd --uid 10001 --create-home npuify
COPY --from=build /opt/npuify /opt/npuify
ENV PATH=/opt/npuify/bin:$PATH
USER 10001
WORKDIR /project
ENTRYPOINT ["npuify"]
CMD ["--help"]
