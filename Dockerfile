# The operator's image.
#
#   docker build -t registry.example/ridgeline:0.1.0 .
#
# Any base with Python 3.11 or newer works. Without a network, put wheels of everything in
# requirements/base.txt, of the build system and, where the base has none, of pip into wheels/.
ARG BASE=python:3.11-slim-bookworm
# What the operator runs on: it needs the same Python at the same path, and no shell.
ARG RUNTIME=${BASE}

FROM ${BASE} AS build
# The wildcard lets wheels/ be missing.
COPY requirements/base.txt wheel[s] /wheels/
# A virtual environment is copied whole; pip itself stays behind.
RUN python3 -m venv --without-pip /opt/ridgeline
COPY pyproject.toml README.md LICENSE /src/
COPY operator /src/operator
# Exactly what is locked, checked by its hashes, then the operator itself without its dependencies.
RUN set -eu; \
    set -- -m pip; \
    for wheel in /wheels/*.whl; do \
      [ ! -e "$wheel" ] || export PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels; \
    done; \
    for wheel in /wheels/pip-*.whl; do [ ! -e "$wheel" ] || set -- "$wheel/pip"; done; \
    export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore; \
    export PIP_PYTHON=/opt/ridgeline/bin/python; \
    python3 "$@" install --require-hashes --only-binary :all: -r /wheels/base.txt; \
    python3 "$@" install --no-deps /src; \
    /opt/ridgeline/bin/ridgeline version

FROM ${RUNTIME}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ridgeline" \
      org.opencontainers.image.description="Keeps vLLM Deployments on the speculation profile that is best for their load" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/ridgeline /opt/ridgeline
# The root file system may be read-only: all modules are compiled already.
ENV PATH=/opt/ridgeline/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    LANG=C.UTF-8
# A number: Kubernetes cannot see that a name is not root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["ridgeline"]
CMD ["run"]
