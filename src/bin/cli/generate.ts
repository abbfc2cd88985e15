/** `bun run generate`: writes what is generated from the code: .env.example, and the tables in README.md. @module */
import { join } from "node:path";
import { readIfThere, writeIfChanged } from "../../std/files.ts";
import { renderEnvExample, renderReadme } from "./generated.ts";
import { openTerminal } from "./terminal.ts";

const terminal = openTerminal(process.env);
const root = join(import.meta.dirname, "../../..");
const readme = join(root, "README.md");
const texts = [
  { path: join(root, ".env.example"), text: renderEnvExample() },
  { path: readme, text: renderReadme(readIfThere(readme) ?? "") },
];
for (const { path, text } of texts)
  terminal.say(`${path} ${writeIfChanged(path, text) ? "written" : "is current"}`);
await terminal.flush();
