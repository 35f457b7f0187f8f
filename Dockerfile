FROM node:24-trixie-slim AS pack
WORKDIR /checkout
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json README.md LICENSE ./
COPY src ./src
COPY config ./config
COPY docs ./docs
RUN npm pack --silent && mv sluice-*.tgz /sluice.tgz
# The lockfile's versions, production dependencies alone, with what `npm pack` put into the package.
WORKDIR /app
RUN tar --extract --gzip --strip-components=1 --file /sluice.tgz \
  && cp /checkout/package-lock.json . && npm ci --omit=dev --no-audit --no-fund && rm package-lock.json

FROM node:24-trixie-slim
ENV NODE_ENV=production SLUICE_DATA_DIR=/data
WORKDIR /app
# The volume takes owner and mode from here. Nothing else is ever written, so the root file system may be read-only.
RUN install -d -o node -g node -m 0700 /data
COPY --from=pack /app ./
# The user and the group `node`. Kubernetes cannot tell that a name is not root (`runAsNonRoot`).
USER 1000:1000
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "config/healthcheck.mjs"]
CMD ["node", "dist/main.js"]
