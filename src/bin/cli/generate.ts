/** `bun run generate`: writes what is generated from the code: .env.example, and the tables on the pages. @module */
import { join } from "node:path";
import { readIfThere, writeIfChanged } from "../../std/files.ts";
import { renderEnvExample, renderPage, TABLES } from "./generated.ts";
import { openTerminal } from "./terminal.ts";

const terminal = openTerminal(process.env);
const root = join(import.meta.dirname, "../../..");
const pages = [...new Set(Object.values(TABLES).map(({ page }) => page))];
const texts = [
  { path: ".env.example", text: renderEnvExample() },
  ...pages.map((path) => ({
    path,
    text: renderPage(path, readIfThere(join(root, path)) ?? ""),
  })),
];
for (const { path, text } of texts)
  terminal.say(`${path} ${writeIfChanged(join(root, path), text) ? "written" : "is current"}`);
await terminal.flush();
