/** Starts and stops the bench's serving processes. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchOptions } from "./options.ts";
import type { Stage } from "./stage.ts";

/** Stops at the end of its `await using` block. */
export type Server = AsyncDisposable & { url: string; pid: number };

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The folder of another bench, and more variables for the process. */
type ServerOptions = { folder?: string; env?: Readonly<Record<string, string>> };

/** Starts a process that serves the stage. */
export async function startServer(
  name: "service" | "plain" | "bare",
  { database, plainUrl }: Pick<Stage, "database" | "plainUrl">,
  { pool, profile }: Pick<BenchOptions, "pool" | "profile">,
  { folder = HERE, env = {} }: ServerOptions = {},
): Promise<Server> {
  const script = join(folder, `${name}_server.ts`);
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${name}`];
  const settings = {
    DATABASE_URL: name === "plain" ? plainUrl : database.servingUrl,
    ADMIN_DATABASE_URL: database.adminUrl,
    DATABASE_POOL: String(pool),
    DATABASE_PREPARE: database.prepare ? "on" : "off",
  };
  const child = Bun.spawn([process.execPath, ...flags, script], {
    env: { ...process.env, ...settings, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value, done } = await child.stdout.getReader().read();
  if (done) throw new Error(`${script} ended before it listened`);
  return {
    url: `http://127.0.0.1:${Number(new TextDecoder().decode(value))}`,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}
