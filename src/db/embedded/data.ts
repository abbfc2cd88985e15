/** The data of an embedded PostgreSQL: created completely or not at all, and discarded in one step. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Account, type Binaries, StartError } from "./folder.ts";

/** The administrator. */
export const USER = "postgres";

export type Installation = { dataDir: string; account: Account; durable: boolean };

/** Moves the data in one step, so that a partly deleted cluster is never mistaken for a cluster. */
export function discard(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  const making = toMaking(dataDir);
  rmSync(making, { recursive: true, force: true });
  renameSync(dataDir, making);
}

/** The path of an incomplete cluster; its content is deleted before the next cluster is created. */
function toMaking(dataDir: string): string {
  return join(dirname(dataDir), "making");
}

/** @throws {StartError} another major version of PostgreSQL created the data */
export function checkMajor({ postgres }: Binaries, dataDir: string): void {
  const file = join(dataDir, "PG_VERSION");
  if (!existsSync(file)) return;
  const stored = readFileSync(file, "utf8").trim();
  const version = execFileSync(postgres, ["--version"], { encoding: "utf8", cwd: "/" });
  const own = /\d+/.exec(version)?.[0];
  if (stored === own) return;
  throw new StartError(
    `${dirname(dataDir)} has the data of PostgreSQL ${stored}, but this version of Rowhouse runs PostgreSQL ${own}. To move the data, install the version of Rowhouse that created it, start rowhouse dev, and save each app with rowhouse admin export-app. Then rename the folder, start this version, and import the files with rowhouse admin import-app\n`,
  );
}

type Initialization = Installation & { /** Interrupts it. */ signal: AbortSignal };

/** Creates the cluster completely or not at all; generates the administrator's password and stores it with the data. */
export async function initialize(
  binaries: Binaries,
  installation: Initialization,
): Promise<string> {
  const { dataDir, account } = installation;
  const stored = join(dataDir, "rowhouse_password");
  if (existsSync(stored)) return readFileSync(stored, "utf8").trim();
  const making = toMaking(dataDir);
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { mode: 0o700 });
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  const file = join(dirname(dataDir), "password");
  writeFileSync(file, password, { mode: 0o600 });
  if (account !== undefined)
    for (const path of [making, file]) chownSync(path, account.uid, account.gid);
  await runInitdb(binaries, { ...installation, dataDir: making }, file);
  rmSync(file);
  writeFileSync(join(making, "rowhouse_password"), password, { mode: 0o600 });
  renameSync(making, dataDir);
  return password;
}

async function runInitdb(
  { initdb }: Binaries,
  { dataDir, account, durable, signal }: Initialization,
  passwordFile: string,
): Promise<void> {
  const flags = ["-D", dataDir, "-U", USER, `--pwfile=${passwordFile}`, "-A", "scram-sha-256"];
  const form = ["-E", "UTF8", "--locale=C", ...(durable ? [] : ["--no-sync"])];
  const created = spawn(initdb, [...flags, ...form], { ...account, cwd: dataDir, signal });
  const output = collect(created);
  const [code] = (await once(created, "close")) as [number];
  if (code !== 0) throw new StartError(output());
}

/** The first part of a process's output; the rest is read too, so that the process never blocks. */
export function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    if (text.length < 100_000) text += chunk.toString();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}
