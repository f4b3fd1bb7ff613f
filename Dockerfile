# docker build -t node-server .
# docker run --rm -it -v node-server:/data node-server init --listen 0.0.0.0:2211
# docker run -d -p 2211:2211 -v node-server:/data node-server
#
# The second line makes /data/config.toml and the database, and shows the Super Token on your terminal: made by the first start in the
# background, it would stay readable in `docker logs`. A server in a container must listen on 0.0.0.0 to be reached from outside of it.
# Everything the server keeps is in /data: configuration, database, buckets.

FROM node:20-bookworm AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
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
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/node-server"]
CMD ["serve"]
