/** `rowhouse serve`: the service on a port, until it is told to stop. @module */
import type { Config, Environment } from "../../config.ts";
import { isDriverPatched } from "../../db/mod.ts";
import type { Log } from "../../observe.ts";
import { type Role, servesRows } from "../../role.ts";
import { examineLogins, IsolationError, judgeDriver, type Service } from "../../service/mod.ts";
import { type Command, EXIT, type ExitCode, RefusedError, type Setting } from "../cli/command.ts";
import {
  checkFunctions,
  checkMigrated,
  checkVersion,
  explainTrouble,
  isAway,
} from "../cli/database.ts";
import { openFrom, openLog } from "../cli/open.ts";
import { hasPeople, readSettings, readWhole } from "../cli/settings.ts";
import { type ListenOptions, listen } from "./listen.ts";
import { STOP_SIGNALS, untilSignal } from "./signals.ts";
import { superviseWorkers, tellListening, untilToldToStop } from "./workers.ts";

/** How often to look for a database that was away at the start. */
const LOOK_INTERVAL_MS = 500;

export const serveCommand: Command = {
  name: "serve",
  summary: "serves the API until SIGTERM or SIGINT",
  example: "DATABASE_URL=postgres://rowhouse_login:…@127.0.0.1:6432/rowhouse rowhouse serve",
  about: `Requires DATABASE_URL; pushes use ADMIN_DATABASE_URL (default: the same). Run rowhouse migrate first.
Logs JSON lines to standard output. While the database is away, every request that needs it is answered
503 with Retry-After, and served again as soon as the database is back. On a signal to stop, requests
under way are finished (within 10 s); a second signal ends the process at once.
With WORKERS above 1, that many processes share the port: one that dies is replaced, and SIGHUP replaces
them one by one without refusing a request.

Any other role than all serves a part, as a separate process: gateway authenticates callers and forwards requests,
signed with what it shares with each, to data and identity (UPSTREAM_DATA_URL, UPSTREAM_IDENTITY_URL), which accept
nothing else.`,
  positionals: [],
  flags: {
    role: { value: "role", about: "all, gateway, data or identity; default: ROLE, else all" },
    worker: { value: "number", about: "which of the WORKERS this is; set by serve itself" },
  },
  run: runServe,
};

async function runServe({ args, env, terminal }: Setting): Promise<ExitCode> {
  const role = args.text("role");
  const config = readServeSettings(role === undefined ? env : { ...env, ROLE: role });
  const log = openLog(config, terminal.say);
  const worker = args.text("worker");
  const sayLastWords = async () => {
    log("warn", "stopped at once", { message: "A second signal cut off what was under way" });
    await terminal.flush();
  };
  if (worker === undefined) warnOfDriver(log);
  if (config.WORKERS > 1 && worker === undefined)
    return await superviseWorkers({ config, log, sayLastWords });
  const address = { url: config.DATABASE_URL, variable: "DATABASE_URL" };
  const held = holdLog(log);
  const service = openFrom(config, {
    databaseUrl: address.url,
    adminDatabaseUrl: config.ADMIN_DATABASE_URL ?? address.url,
    log: held.log,
  });
  const stopped =
    worker === undefined ? untilSignal(STOP_SIGNALS, sayLastWords) : untilToldToStop();
  try {
    const isThere = await checkService(service, config.ROLE);
    held.release();
    // Once, by the first of several workers.
    if (isThere && (worker ?? "0") === "0") await warnOfLogins(service, { role: config.ROLE, log });
    const serving = listen(service, { ...toListenOptions(config, worker), log });
    log("info", "listening", { host: config.HOST, port: serving.port, role: config.ROLE, worker });
    if (worker !== undefined) tellListening();
    try {
      if (!isThere) await Promise.race([stopped, waitForDatabase(service, config.ROLE, stopped)]);
      await stopped;
      log("info", "stopping");
    } finally {
      await serving.stop();
    }
    log("info", "stopped");
    return EXIT.done;
  } catch (error) {
    if (error instanceof IsolationError) throw new RefusedError(error.message);
    throw explainTrouble(error, address);
  }
}

/** @throws {RefusedError} a setting has a fault, or is missing for what this process does */
function readServeSettings(env: Environment) {
  return hasPeople(env)
    ? readSettings(env, "DATABASE_URL", "IDENTITY_SECRET")
    : readSettings(env, "DATABASE_URL");
}

/** A log that holds its lines back until the service serves: a refusal to start is reported by itself. */
function holdLog(log: Log): { log: Log; release: () => void } {
  let held: Parameters<Log>[] | undefined = [];
  return {
    log: (...line) => (held === undefined ? log(...line) : void held.push(line)),
    release: () => {
      for (const line of held ?? []) log(...line);
      held = undefined;
    },
  };
}

/** Once, by the process that the operator started. */
function warnOfDriver(log: Log): void {
  const { about, level, says, remedy } = judgeDriver(isDriverPatched());
  if (level === "ok") return;
  log("warn", "driver not patched", { message: `The ${about} ${says}: ${remedy}` });
}

/** A process that never pushes does not use the other login. */
async function warnOfLogins(
  { db, admin }: Service,
  { role, log }: { role: Role; log: Log },
): Promise<void> {
  for (const { about, says, remedy } of await examineLogins(
    db,
    servesRows(role) ? admin : undefined,
  ))
    log("warn", "login with too many rights", { message: `The ${about} ${says}: ${remedy}` });
}

function toListenOptions(
  { HOST, PORT, ADMIN_HOST, ADMIN_PORT, MAX_SOCKETS }: Config,
  worker: string | undefined,
): Omit<ListenOptions, "log"> {
  const index = worker === undefined ? 0 : readWhole("--worker", worker, [0, 63]);
  return {
    host: HOST,
    port: PORT,
    admin: ADMIN_PORT === undefined ? undefined : { host: ADMIN_HOST, port: ADMIN_PORT + index },
    maxSockets: MAX_SOCKETS,
    isShared: worker !== undefined,
  };
}

/** Whether the database is there; if it is, it must be one that can be served. */
async function checkService(service: Service, role: Role): Promise<boolean> {
  try {
    await checkVersion(service.db);
    await checkMigrated(service.db);
    if (servesRows(role)) await checkFunctions(service.db);
    await service.warm();
    return true;
  } catch (error) {
    if (isAway(error)) return false;
    throw error;
  }
}

/** Looks until the database answers; meanwhile requests are answered 503. */
async function waitForDatabase(
  service: Service,
  role: Role,
  stopped: Promise<void>,
): Promise<void> {
  let isStopping = false;
  void stopped.then(() => {
    isStopping = true;
  });
  while (!isStopping) {
    await Bun.sleep(LOOK_INTERVAL_MS);
    if (await checkService(service, role)) return;
  }
}
