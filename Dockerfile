# An image of one static binary, which runs as the user 65532 and keeps its file in
# the volume /data. Run it with -e PUNCHCARD_PUBLIC_URL=https://cards.example.com.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /punchcard . && mkdir /data

FROM scratch
COPY --from=build /punchcard /punchcard
# Receivers of webhooks are verified by these.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENV PUNCHCARD_DB=/data/shop.db PUNCHCARD_LISTEN=0.0.0.0:8080
# It finds the address and the certificate in the variables of the server.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/punchcard", "healthcheck"]
ENTRYPOINT ["/punchcard"]
CMD ["serve"]
