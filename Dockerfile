# Two images from one file, for linux/amd64 and linux/arm64:
#   docker build --target agent  -t fss-exporter-agent .     client side, without the OCI SDK
#   docker build --target poller -t fss-exporter-poller .    cloud side, the SDK cut down to the services in use
# BASE is any image with Python 3.11 or newer and its venv module.
ARG BASE=docker.io/library/python:3.13-slim-bookworm

# Dependencies are a layer of their own, so that a change of the exporter's code does not install them again.
FROM ${BASE} AS agent-dependencies
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
SHELL ["/bin/sh", "-eu", "-c"]
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/fss-exporter
WORKDIR /src
COPY requirements/agent.txt requirements/
RUN /build/bin/pip --python /opt/fss-exporter/bin/python install --quiet --no-compile --require-hashes --requirement requirements/agent.txt \
 && /opt/fss-exporter/bin/python -m compileall -q /opt/fss-exporter

FROM agent-dependencies AS poller-dependencies
COPY requirements/poller.txt requirements/
COPY tools/release/prune_sdk.py tools/release/
RUN /build/bin/pip --python /opt/fss-exporter/bin/python install --quiet --no-compile --require-hashes --requirement requirements/poller.txt \
 && /opt/fss-exporter/bin/python tools/release/prune_sdk.py \
 && /opt/fss-exporter/bin/python -m compileall -q /opt/fss-exporter

FROM agent-dependencies AS wheel
ARG REVISION=unknown
ARG RUNBOOK_URL
COPY . .
RUN REVISION="${REVISION}" RUNBOOK_URL="${RUNBOOK_URL}" /opt/fss-exporter/bin/python tools/release/stamp.py . \
 && /build/bin/pip wheel --quiet --no-deps --wheel-dir /wheel .

FROM agent-dependencies AS agent-build
COPY --from=wheel /wheel /wheel
RUN /build/bin/pip --python /opt/fss-exporter/bin/python install --quiet --no-compile --no-deps /wheel/*.whl \
 && /opt/fss-exporter/bin/python -m compileall -q /opt/fss-exporter

FROM poller-dependencies AS poller-build
COPY --from=wheel /wheel /wheel
RUN /build/bin/pip --python /opt/fss-exporter/bin/python install --quiet --no-compile --no-deps /wheel/*.whl \
 && /opt/fss-exporter/bin/python -m compileall -q /opt/fss-exporter

FROM ${BASE} AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="fss-exporter" \
      org.opencontainers.image.description="Shows how close OCI File Storage mount targets are to their ceilings, which clients cause the load, and what to do." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/opt/fss-exporter/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# An unprivileged user. A number, because Kubernetes (runAsNonRoot) accepts no name. The agent needs `--user 0` for the host's mounts.
USER 65532:65532
EXPOSE 10949
COPY tools/release/healthcheck.py /opt/healthcheck.py
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["python", "/opt/healthcheck.py"]
ENTRYPOINT ["fss-exporter"]

FROM runtime AS poller
COPY --from=poller-build /opt/fss-exporter /opt/fss-exporter
CMD ["serve", "--no-collector.nfs", "--collector.oci"]

FROM runtime AS agent
COPY --from=agent-build /opt/fss-exporter /opt/fss-exporter
CMD ["serve", "--collector.nfs"]
