# The viewer by default; `--target record` gives the image that records on a GPU.
#
#   docker build -t cglens .
#   docker run --rm -p 8050:8050 -v "$PWD:/data:ro" cglens view --no-browser --host 0.0.0.0 /data/run.cgl
#
#   docker build --target record -t cglens-record .
#   docker run --rm --gpus all -v "$PWD:/data" cglens-record record -o /data/run.cgl /data/train.py

FROM python:3.12-slim AS build
WORKDIR /src
RUN pip install --no-cache-dir build
COPY pyproject.toml README.md LICENSE ./
COPY capture capture
COPY graphviz_app graphviz_app
COPY assets assets
RUN python -m build --wheel --outdir /wheels

FROM python:3.12-slim AS record
# For what is compiled where it runs: our observer of operators, and Triton's launchers.
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
# torch brings the CUDA runtime; the driver comes from the host.
RUN wheel="$(ls /wheels/*.whl)" && pip install --no-cache-dir "${wheel}[cuda]" && rm -r /wheels
WORKDIR /data
ENTRYPOINT ["cglens"]
CMD ["doctor"]

FROM python:3.12-slim AS view
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels \
    && useradd --create-home viewer
USER viewer
WORKDIR /home/viewer
EXPOSE 8050
ENTRYPOINT ["cglens"]
CMD ["demo", "--no-browser", "--host", "0.0.0.0"]
