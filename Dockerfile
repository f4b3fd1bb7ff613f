# docker build -t node-server .
# docker run --rm -it -v node-server:/data node-server init
# docker run -d --name node-server --restart unless-stopped -p 2211:2211 -v node-server:/data node-server
#
# The second line creates /data/config.toml and the database, and shows the Super Token on your terminal: created by the first start in
# the background, it would stay readable in `docker logs`. So the third line refuses an empty volume.
# Everything the server keeps is in /data: configuration, database, buckets. The variables NODE_SERVER_<KEY> set every key of the
# configuration (docs/config.md); deploy/ has examples for Docker Compose and Kubernetes.

FROM node:20-bookworm AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
# The console shows the documentation of its version.
COPY docs ./docs
RUN npm run build

FROM debian:bookworm-slim
# The folder of the binary belongs to the server too, because self-update replaces the binary there. What it puts there
# lives as long as the container; a new one starts with the version of its image.
RUN groupadd --gid 10001 node-server \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin node-server \
 && install -d -o 10001 -g 10001 -m 0755 /app \
 && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build --chown=10001:10001 /build/dist/node-server /app/node-server
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 2211
# A server that listens on 127.0.0.1 cannot be reached from outside of its container.
ENV NODE_SERVER_WS_LISTENER=0.0.0.0:2211
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/app/node-server", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/node-server"]
# With -c, a configuration that does not exist is refused, not created.
CMD ["serve", "-c", "/data/config.toml"]
