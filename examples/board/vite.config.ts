import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // The package by its sources, as in the rest of the repository.
  resolve: { tsconfigPaths: true },
  // rowhouse dev registers http://<app>.rowhouse.localhost:5173 for the pages: sign-in works only there.
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
  plugins: [
    {
      name: "address",
      configureServer: (server) => {
        server.printUrls = () =>
          server.config.logger.info("  ➜  Open: http://board.rowhouse.localhost:5173/");
      },
    },
  ],
  build: {
    ...{ outDir: "dist", emptyOutDir: true, assetsInlineLimit: 0 },
    // "use client" in packages is for frameworks with components on servers.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
