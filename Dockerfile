# The images of the operator (target manager) and of its workers (target worker), for those who
# have a registry: make docker-build IMAGE=registry.example.com/storagebench:0.3.0
# The local cluster makes the same images without one, from the same scripts
# (hack/cluster/lib/images.sh). make test-image builds and runs them.
ARG DEBIAN=bookworm

FROM golang:1.26-${DEBIAN} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# docker build --build-arg VERSION="$(hack/version)" --target manager .
ARG VERSION=
RUN VERSION="${VERSION:-unknown}" hack/build /out/manager ./cmd/manager \
    && VERSION="${VERSION:-unknown}" hack/build /out/worker ./cmd/storagebench

FROM debian:${DEBIAN}-slim AS base
COPY hack/image/packages hack/image/slim /tmp/image/
RUN apt-get update \
    && sed 's/#.*//' /tmp/image/packages | xargs apt-get install -y --no-install-recommends \
    && /tmp/image/slim / \
    && rm -rf /tmp/image

# A layer on a layer cannot make an image smaller: one copy of what is left.
FROM scratch AS worker
COPY --from=base / /
COPY --from=build /out/worker/ /usr/local/bin/
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER 65532:65532
# No entrypoint: the operator names the program, storagebench.

# Static, with no shell and no other program; the certificates are for object stores.
FROM scratch AS manager
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/manager/ /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/manager"]
