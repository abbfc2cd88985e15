/**
 * The process that evaluates a schema: imports the file and writes one line of JSON to descriptor 3. The schema is read as plain
 * data, so that it can use another copy of this package.
 *
 * @module
 */
import { once } from "node:events";
import { closeSync, existsSync, readFileSync, writeSync } from "node:fs";
import { extname, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { toDefinition } from "../../schema/mod.ts";
import { errorCode } from "../../std/network.ts";

const REPORT = 3;
const file = process.argv[2] ?? "";
await postGuard();
report(await evaluate());
process.exit(0);

/** Starts the thread that ends this process with the command, and waits for it before the schema runs. */
async function postGuard(): Promise<void> {
  const guard = new URL(`./evaluate_guard${extname(import.meta.url)}`, import.meta.url);
  // Bun starts its own workers in a third of the time of Node's.
  if (process.versions.bun !== undefined) return void (await once(new Worker(guard), "message"));
  const { Worker: NodeWorker } = await import("node:worker_threads");
  await once(new NodeWorker(guard), "message");
}

async function evaluate(): Promise<object> {
  try {
    const module: Record<string, unknown> = await import(pathToFileURL(file).href);
    if (Object.hasOwn(module, "default")) return toDefinition(module["default"]);
    const names = Object.keys(module);
    const found = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
    return { failure: `${found}; expected export default defineSchema({ … })` };
  } catch (error) {
    return { failure: explain(error) };
  }
}

/** The error that the file threw, or why it cannot be loaded, with the line if it is known. */
function explain(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(explain).join("\n  ");
  const location = findPosition(error) ?? findImport(error) ?? findFrame(error);
  const at = location === undefined ? "" : ` at ${location}`;
  return `${describe(error)}${at}`;
}

/** The message of an error: with the name for a JavaScript error, without it for an error of the loader. */
function describe(error: unknown): string {
  const message = readText(error, "message");
  if (message === undefined) return `it throws ${JSON.stringify(error) ?? typeof error}`;
  const name = readText(error, "name") ?? "";
  const isLoaders = /Message$/.test(name) || !(error instanceof Error);
  // The position is added later.
  return isLoaders ? message.replace(/ imported from .*$/s, "") : `${name}: ${message}`;
}

function readText(error: unknown, name: string): string | undefined {
  const value: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === "string" ? value : undefined;
}

/** The line of a failed import: the loader only names the file. */
function findImport(error: unknown): string | undefined {
  const referrer = readText(error, "referrer")?.replace(/^file:\/\//, "");
  const specifier = readText(error, "specifier");
  if (referrer === undefined || specifier === undefined || !existsSync(referrer)) return undefined;
  const lines = readFileSync(referrer, "utf8").split("\n");
  const index = lines.findIndex((line) => /["'`]/.test(line) && line.includes(specifier));
  const location = relative(process.cwd(), referrer);
  return index === -1
    ? location
    : `${location}:${index + 1}:${(lines[index] ?? "").indexOf(specifier)}`;
}

/** The position of a syntax error. */
function findPosition(error: unknown): string | undefined {
  const position =
    typeof error === "object" && error !== null ? Reflect.get(error, "position") : undefined;
  if (typeof position !== "object" || position === null) return undefined;
  const {
    file: path,
    line,
    column,
  } = position as { file?: string; line?: number; column?: number };
  return path === undefined ? undefined : `${relative(process.cwd(), path)}:${line}:${column}`;
}

/** The first frame in a file of the schema rather than of this package. */
function findFrame(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const frames = [...stack.matchAll(/[\s(](?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?/g)];
  const frame = frames.find(([, path]) => !path?.startsWith(import.meta.dirname)) ?? frames[0];
  return frame === undefined
    ? undefined
    : `${relative(process.cwd(), frame[1] ?? "")}:${frame[2]}:${frame[3]}`;
}

function report(value: object): void {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let sent = 0; sent < bytes.length; ) sent += writeSome(bytes.subarray(sent));
  closeSync(REPORT);
}

/** A full pipe gives EAGAIN: wait a moment for the reader. */
function writeSome(bytes: Uint8Array): number {
  try {
    return writeSync(REPORT, bytes);
  } catch (error) {
    if (errorCode(error) !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}
