/** Serving processes of the bench: started, waited for, asked, stopped. @module */
import { fileURLToPath } from "node:url";
import type { BenchOptions } from "./options.ts";
import type { Stage } from "./stage.ts";

export type Server = {
  url: string;
  pid: number;
  /** One line to the process, and the line that it answers. */
  ask: (line: string) => Promise<string>;
  stop: () => Promise<void>;
};

const SCRIPTS = {
  service: "service_server.ts",
  plain: "plain_server.ts",
  bare: "bare_server.ts",
} as const;

/** Flags of Bun and variables of a server's process. */
export type ServerOptions = { flags?: readonly string[]; env?: Readonly<Record<string, string>> };

/** A process that serves the stage. */
export async function startServer(
  name: keyof typeof SCRIPTS,
  stage: Stage,
  { pool, profile }: Pick<BenchOptions, "pool" | "profile">,
  { flags: more = [], env = {} }: ServerOptions = {},
): Promise<Server> {
  const script = fileURLToPath(new URL(SCRIPTS[name], import.meta.url));
  const { servingUrl, adminUrl, prepare } = stage.database;
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${name}`];
  const child = Bun.spawn([process.execPath, ...flags, ...more, script], {
    env: {
      ...process.env,
      DATABASE_URL: name === "plain" ? stage.plainUrl : servingUrl,
      ADMIN_DATABASE_URL: adminUrl,
      DATABASE_POOL: String(pool),
      DATABASE_PREPARE: prepare ? "on" : "off",
      ...env,
    },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = readLines(child.stdout);
  const port = await takeLine(lines);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      await child.stdin.flush();
      return await takeLine(lines);
    },
    stop: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    const parts = (text + decoder.decode(chunk, { stream: true })).split("\n");
    text = parts.pop() ?? "";
    yield* parts;
  }
}

/** @throws {Error} the process ended without a word */
async function takeLine(lines: AsyncGenerator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error("The server ended before it answered");
  return value;
}
