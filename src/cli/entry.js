#!/usr/bin/env node
/**
 * The package's executable. Under Bun it runs the command; under Node it starts the command with the installed Bun. Without Bun
 * it runs the command that is built for Node, which contains only what talks to a service. Plain JavaScript, because Node does
 * not run TypeScript from node_modules.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { devNull, homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bun = process.versions.bun === undefined ? findBun() : undefined;
if (process.versions.bun !== undefined) await import("./rowhouse.ts");
else if (bun !== undefined) startUnderBun(bun);
else await runUnderNode();

async function runUnderNode() {
  const command = new URL("../../dist/command/rowhouse.js", import.meta.url);
  if (!existsSync(command) || process.loadEnvFile === undefined) {
    console.error(
      "Rowhouse requires Bun: run npm install --save-dev bun, or see https://bun.com/docs/installation. Without Bun, the packed package pushes on Node 22.18 or later",
    );
    process.exitCode = 1;
    return;
  }
  // The files that Bun reads. A variable that is already set does not change.
  const mode = process.env.NODE_ENV ?? "development";
  for (const file of [".env.local", `.env.${mode}`, ".env"])
    if (existsSync(file)) process.loadEnvFile(file);
  await import(command.href);
}

/** Searches the PATH, the npm package `bun`, and the folder of Bun's own installer. */
function findBun() {
  const name = process.platform === "win32" ? "bun.exe" : "bun";
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const home = process.env.BUN_INSTALL ?? join(homedir(), ".bun");
  return [...folders.map((folder) => join(folder, name)), findPackage(), join(home, "bin", name)]
    .filter((path) => path !== undefined)
    .find((path) => existsSync(path));
}

function findPackage() {
  try {
    const manifest = createRequire(import.meta.url).resolve("bun/package.json");
    return join(dirname(manifest), "bin", "bun.exe"); // the same name on every platform
  } catch {
    return undefined;
  }
}

function startUnderBun(bun) {
  const script = fileURLToPath(new URL("./rowhouse.ts", import.meta.url));
  // Otherwise the preload of the project's bunfig.toml would run in this process.
  const child = spawn(bun, [`--config=${devNull}`, script, ...process.argv.slice(2)], {
    stdio: "inherit",
    // FETCH_LIMIT of std/network.ts.
    env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "65535", ...process.env },
  });
  // A terminal sends Ctrl-C to both processes: wait until the command has ended.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // Without /proc, dev cannot detect that its package runner was killed.
  const launcher = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined && process.argv[2] === "dev")
    setInterval(() => process.ppid === launcher || child.kill("SIGTERM"), 500).unref();
  child.on("error", ({ message }) => {
    console.error(`Cannot start ${bun}: ${message}`);
    process.exit(1);
  });
  child.on("exit", (code) => process.exit(code ?? 1));
}
