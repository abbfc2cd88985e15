/**
 * Builds the commands that run under Node without Bun into `dist/command/`: those that only talk to a service. Each other module
 * that a command imports later becomes needs_bun.ts.
 *
 * @module
 */
import { join } from "node:path";

const BIN = join(import.meta.dirname, "../src/cli");
/** The dynamic imports that the build contains. */
const CONTAINED = ["./db/mod.ts", "./init/mod.ts", "../settings/mod.ts"];

await Bun.build({
  entrypoints: ["rowhouse.ts", "db/evaluate_process.ts", "db/evaluate_guard.ts"].map((path) =>
    join(BIN, path),
  ),
  outdir: join(BIN, "../../dist/command"),
  naming: { entry: "[name].js", chunk: "[hash].js" },
  target: "node",
  minify: { whitespace: true, syntax: true, identifiers: false },
  splitting: true,
  plugins: [
    {
      name: "needs-bun",
      setup: (build) => {
        build.onResolve({ filter: /^\./ }, ({ kind, path }) =>
          kind === "dynamic-import" && !CONTAINED.includes(path)
            ? { path: join(BIN, "needs_bun.ts") }
            : undefined,
        );
      },
    },
  ],
});
