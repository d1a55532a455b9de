# syntax=docker/dockerfile:1
# One image for every role: `migrate`, `receiver` (the default) and `worker`.
# Debian, not Alpine: Temporal's native module ships for glibc only.
ARG NODE_IMAGE=node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e

FROM ${NODE_IMAGE} AS build
WORKDIR /app

# Packages in a layer of their own: it is kept for as long as the lock file is.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev

COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
COPY activities activities
COPY workflows workflows
RUN npm run build

# What runs needs neither the compiler nor the native modules of four other platforms (about 30 MB each).
RUN npm prune --omit=dev \
 && node --input-type=module -e " \
      import { readdirSync, rmSync } from 'node:fs'; \
      const folder = 'node_modules/@temporalio/core-bridge/releases'; \
      const ours = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] + '-unknown-linux-gnu'; \
      const all = readdirSync(folder); \
      if (!all.includes(ours)) throw new Error('no native module for ' + ours); \
      for (const name of all) if (name !== ours) rmSync(folder + '/' + name, { recursive: true });"

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/migrations migrations
COPY --from=build /app/dist dist

# The unprivileged user that the base image brings; the program writes no file.
USER node
EXPOSE 3000 3001 3002
# Of the receiver, and of liveness only: a database that is away must not get it restarted. For a worker ask /metrics on
# its operator port instead, as docker-compose.yml does.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Without a shell in between, so that SIGTERM reaches the program.
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/main/cli.js"]
CMD ["receiver"]
