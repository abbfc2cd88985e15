# Rowhouse as a container: docker build -t rowhouse .
# Run it with DATABASE_URL; migrate once with the arguments "migrate" (compose.yaml shows both).
FROM oven/bun:1.4.5-slim AS install
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY patches ./patches
# Without peers: TypeScript, which valibot names as one, is four fifths of what would be installed.
RUN ["bun", "install", "--frozen-lockfile", "--production", "--omit=peer"]
# The service reads no types, source maps, tests, builds for browsers or pages of its packages: a third of what was installed.
# Licenses stay.
RUN ["find", "node_modules", "-type", "f", "(", "-name", "*.map", "-o", "-name", "*.d.*ts", "-o", "-name", "*.min.*", "-o", "-path", "*/test/*", "-o", "-iname", "*.md", "-not", "-iname", "licen[sc]e*", ")", "-delete"]

FROM oven/bun:1.4.5-slim
WORKDIR /app
# Bun reads its limit of requests sent at once when it starts. A gateway needs more than the default of 256.
ENV NODE_ENV=production BUN_CONFIG_MAX_HTTP_REQUESTS=65535
COPY --from=install /app/node_modules ./node_modules
COPY package.json bunfig.toml tsconfig.json ./
COPY src ./src
# What the service hands out about itself.
COPY docs ./docs
# The image's own account, by number, so that an orchestrator can tell that it is not root.
USER 1000:1000
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=10s --retries=3 CMD ["bun", "src/cli/rowhouse.ts", "health"]
ENTRYPOINT ["bun", "src/cli/rowhouse.ts"]
CMD ["serve"]
