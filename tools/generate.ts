/**
 * `bun run generate`: writes .env.example, the generated tables and numbers in docs, and the types of the service's SQL functions, which it
 * reads from a migrated embedded database.
 *
 * @module
 */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTerminal } from "../src/cli/terminal.ts";
import { type FunctionShape, migrate, openDatabase, startCluster } from "../src/db/mod.ts";
import { readIfThere, writeIfChanged } from "../src/std/files.ts";
import { pickCalled, readFunctions, renderFunctions } from "./functions.ts";
import { renderCompose, renderEnvExample, renderPage, renderSummaries } from "./generated.ts";

const COMPOSE_FILE = "compose.yaml";
const FUNCTIONS_FILE = "src/db/functions.ts";
const terminal = openTerminal(process.env);
const root = join(import.meta.dirname, "..");
const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const texts = [
  { path: ".env.example", text: renderEnvExample() },
  { path: COMPOSE_FILE, text: renderCompose(readIfThere(join(root, COMPOSE_FILE)) ?? "") },
  { path: "src/cli/summaries.ts", text: renderSummaries() },
  { path: FUNCTIONS_FILE, text: renderFunctions(await readMigrated()) },
  ...pages.map((name) => {
    const path = `docs/${name}`;
    return { path, text: renderPage(path, readIfThere(join(root, path)) ?? "") };
  }),
];
for (const { path, text } of texts)
  terminal.print(`${path} ${writeIfChanged(join(root, path), text) ? "written" : "is current"}`);
await terminal.flush();

async function readMigrated(): Promise<Record<string, FunctionShape>> {
  const dataDir = mkdtempSync(join(tmpdir(), "rowhouse-generate-"));
  const cluster = await startCluster({ dataDir, durable: false, fresh: true });
  const admin = openDatabase({ url: cluster.url, connections: 1, prepare: true, name: "generate" });
  try {
    await migrate(admin, { keepsEarlier: true });
    return await pickCalled(await readFunctions(admin));
  } finally {
    await admin.close();
    await cluster.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
