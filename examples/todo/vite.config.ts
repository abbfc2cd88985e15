import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // The package by its sources, as in the rest of the repository.
  resolve: { tsconfigPaths: true },
  build: { outDir: "dist", emptyOutDir: true, assetsInlineLimit: 0 },
});
