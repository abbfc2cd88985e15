/**
 * Evaluates a schema file in a separate process with a time limit and separate output. The process gets neither the command's
 * settings nor the project's bunfig.toml. It still runs as the same user: like any program, a schema can read the user's files
 * and, in /proc, the environment of the user's other processes.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { extname, join, relative, resolve } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import type { Detail } from "../../problem.ts";
import { type Definition, readDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { NO_BUNFIG } from "../../std/files.ts";
import { escapePointer } from "../../std/json_pointer.ts";
import { EXIT, RejectedError, SCHEMA_FLAG, type Setting } from "../command.ts";

const EVALUATION_LIMIT_MS = 10_000;
const PRINT_GRACE_MS = 1000;
const MAX_BYTES = 16_000_000;
/** The only environment variables that the process gets, because a schema can be untrusted code. */
const PASSED_ON = ["PATH", "HOME", "TMPDIR", "LANG", "NO_COLOR"];

const RUNTIME_FLAGS =
  process.versions.bun === undefined
    ? // Node 22 warns that it removes types, and about a package.json without a type.
      ["--disable-warning=ExperimentalWarning", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]
    : [NO_BUNFIG, "--no-env-file", "--no-install"];

const Report = v.union([
  v.object({ definition: v.unknown() }),
  v.object({
    issues: v.array(
      v.object({
        table: v.optional(v.string()),
        column: v.optional(v.string()),
        message: v.string(),
      }),
    ),
  }),
  v.object({ failure: v.string() }),
]);

type Evaluating = Pick<Setting, "folder" | "env" | "terminal">;

/** The file of `--schema`, or `mod.ts` in that folder. Existence is checked later, at evaluation. */
export function findSchemaFile({ args, folder }: Pick<Setting, "args" | "folder">): string {
  const path = resolve(folder, args.text("schema") ?? SCHEMA_FLAG.default);
  const isFile = existsSync(path) ? !statSync(path).isDirectory() : /\.[cm]?[jt]s$/.test(path);
  return isFile ? path : join(path, "mod.ts");
}

/** @throws {RejectedError} lists all errors with their paths */
export async function evaluateSchema(setting: Evaluating, file: string): Promise<Definition> {
  const location = relative(setting.folder, file);
  if (!existsSync(file))
    throw invalid(
      `No schema at ${location}: write "export default defineSchema({ … })" there, or select another file with --schema`,
    );
  const { text, ending } = await runEvaluation(setting, file);
  if (ending === "limit")
    throw invalid(
      `Cannot read ${location}: it did not finish within ${EVALUATION_LIMIT_MS / 1000} s; a schema must not wait or loop forever`,
    );
  const report = readReport(text);
  if (report === undefined)
    throw invalid(
      `Cannot read ${location}: its process ended (${ending}) before it reported the schema; a schema must not exit`,
    );
  if ("failure" in report)
    throw invalid(`Cannot read ${location}: ${explainFailure(report.failure)}`);
  const reading = "issues" in report ? report : readDefinition(report.definition);
  if ("definition" in reading) return reading.definition;
  const { issues } = reading;
  const lines = issues.map((issue) => `  ${toLocation(issue)}${issue.message}`);
  throw invalid(
    `Cannot use ${location}: it has ${showCount(lines.length, "error")}\n${lines.join("\n")}`,
    issues.map((issue) => ({ path: toPointer(issue), message: issue.message })),
  );
}

function explainFailure(failure: string): string {
  if (/Unknown file extension "\.[cm]?ts"/.test(failure))
    return `Node ${process.versions.node} does not run TypeScript: use Node 22.18 or later, or install Bun`;
  // A package that was added as a folder is installed, but not built.
  if (!/Cannot find (package|module) 'rowhouse\b/.test(failure)) return failure;
  return `${failure}; install the packed package (bun pm pack in its repository, then bun add the .tgz): a source folder is not built`;
}

function invalid(message: string, details: readonly Detail[] = []): RejectedError {
  return new RejectedError(message, EXIT.rejected, { code: "invalid_schema", details });
}

type IssueLocation = { table?: string | undefined; column?: string | undefined };

function toPointer({ table, column }: IssueLocation): string {
  const parts = [table, column].filter((part) => part !== undefined);
  return parts.map((part) => `/${escapePointer(part)}`).join("");
}

function toLocation({ table, column }: IssueLocation): string {
  const location = [table, column].filter((part) => part !== undefined).join(".");
  return location === "" ? "" : `${location}: `;
}

function readReport(text: string): v.InferOutput<typeof Report> | undefined {
  try {
    return v.parse(Report, JSON.parse(text));
  } catch {
    return undefined; // truncated or missing
  }
}

type Evaluation = { text: string; ending: string };

async function runEvaluation(
  { folder, env, terminal }: Evaluating,
  file: string,
): Promise<Evaluation> {
  // The packed command for Node is built JavaScript.
  const name = `./evaluate_process${extname(import.meta.url)}`;
  const script = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [...RUNTIME_FLAGS, script, file], {
    cwd: folder,
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    // Descriptor 3 is for the report. Descriptor 4 stays open, so that the process ends with this one.
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
  });
  const warn = (chunk: Buffer) => terminal.warn(chunk.toString().replace(/\n$/, ""));
  child.stdout?.on("data", warn);
  child.stderr?.on("data", warn);
  try {
    const evaluation = await collectReport(child);
    if (evaluation.ending === "done") await untilPrinted(child);
    return evaluation;
  } finally {
    child.kill("SIGKILL");
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Output has a separate channel: waits briefly for its end, because a grandchild can hold it open. */
async function untilPrinted({ stdout, stderr }: ChildProcess): Promise<void> {
  const ends = [stdout, stderr].flatMap((stream) =>
    stream === null || stream.readableEnded ? [] : [once(stream, "end")],
  );
  await Promise.race([Promise.all(ends), sleep(PRINT_GRACE_MS)]);
}

/** The report from descriptor 3, until it ends, the process ends, or the time limit is reached. */
function collectReport(child: ChildProcess): Promise<Evaluation> {
  const channel = child.stdio[3] as Readable;
  let text = "";
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle("limit"), EVALUATION_LIMIT_MS);
    const settle = (ending: string) => {
      clearTimeout(timer);
      resolve({ text, ending });
    };
    channel.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith("\n")) settle("done");
      if (text.length > MAX_BYTES) settle("too large");
    });
    child.once("error", () => settle("not started"));
    // The last output can arrive after the exit.
    child.once("exit", (code, signal) =>
      setTimeout(() => settle(`${signal ?? `code ${code}`}`), 50),
    );
  });
}
