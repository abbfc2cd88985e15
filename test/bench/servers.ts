/** Serving processes of the bench: started, waited for, stopped. @module */
import { fileURLToPath } from "node:url";
import type { BenchOptions } from "./options.ts";
import type { Stage } from "./stage.ts";

export type Server = { url: string; pid: number; stop: () => Promise<void> };

const SCRIPTS = { house: "house_server.ts", plain: "plain_server.ts" } as const;

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
      DATABASE_URL: name === "house" ? servingUrl : stage.plainUrl,
      ADMIN_DATABASE_URL: adminUrl,
      DATABASE_POOL: String(pool),
      DATABASE_PREPARE: prepare ? "on" : "off",
      ...env,
    },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const port = await readLine(child.stdout);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    stop: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}

/** @throws {Error} the process ended without a word */
async function readLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  throw new Error("The server ended before it served");
}
