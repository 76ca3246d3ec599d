# The image of operator and workers, for those who have a registry. The local
# cluster makes the same image without one, from the same list of packages
# (hack/cluster/lib/images.sh).
ARG DEBIAN=bookworm

FROM golang:1.26-${DEBIAN} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# docker build --build-arg VERSION="$(hack/version)" .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-X main.linkedVersion=${VERSION}" -o /out/ ./cmd/manager ./cmd/storagebench

FROM debian:${DEBIAN}-slim
RUN --mount=type=bind,source=hack/image/packages,target=/packages \
    apt-get update \
    && sed 's/#.*//' /packages | xargs apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /usr/local/bin/
USER 65532:65532
# No entrypoint: the chart and the operator name the program, manager or storagebench.
