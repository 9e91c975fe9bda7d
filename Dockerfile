# syntax=docker/dockerfile:1

# The worker without a GPU, and every other command: one static binary.
#
#   docker build -t pinion:local .

FROM golang:1.26.8 AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -ldflags="-s -w" -o /pinion ./cmd/pinion

# Alpine for the sake of wget in the health check and a shell to look around with.
FROM alpine:3.23.4
RUN install -d -o 65532 -g 65532 -m 0750 /var/lib/pinion
COPY --from=build /pinion /usr/local/bin/pinion
ENV PINION_DATA=/var/lib/pinion
VOLUME /var/lib/pinion
USER 65532:65532
EXPOSE 8080
# Only `serve` listens; containers that run another command end before it matters.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8080/readyz"]
ENTRYPOINT ["pinion"]
CMD ["serve"]
