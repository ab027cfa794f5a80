# The server of exported models, without TensorFlow; docs/serving.md says how to run it.
FROM python:3.12-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE MANIFEST.in ./
COPY keras_transformer keras_transformer
COPY export export
# "grpc" adds TensorFlow Serving's protos, which bring TensorFlow.
ARG EXTRA=serve
RUN python -m venv /opt/server \
    && /opt/server/bin/pip install --no-cache-dir ".[${EXTRA}]"

FROM python:3.12-slim-bookworm
COPY --from=build /opt/server /opt/server
ENV PATH=/opt/server/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 ORT_DISABLE_TELEMETRY=1
USER 10001:10001
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/readyz', timeout=2)"]
ENTRYPOINT ["keras-transformer", "serve"]
CMD ["/models/model", "--host", "0.0.0.0"]
