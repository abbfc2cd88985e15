/** `rowhouse serve`: runs the service on a port until a signal to stop. @module */

import { RELEASE_TEXT } from "../../db/mod.ts";
import { toWallBytes } from "../../http/mod.ts";
import type { Log } from "../../observe.ts";
import { IsolationError, type ListenOptions, listen } from "../../service/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { type Command, EXIT, type ExitCode, RejectedError, type Setting } from "../command.ts";
import { explainFailure } from "../database.ts";
import { openFrom } from "../open_service.ts";
import { openLog, readServeSettings, readWhole } from "../settings.ts";
import { STOP_SIGNALS, untilSignal } from "../signals.ts";
import { checkService, waitForDatabase, warnOfLogins, warnOfSettings } from "./checks.ts";
import { reportListening, superviseWorkers, untilStopSignal } from "./workers.ts";

export const serveCommand: Command = {
  name: "serve",
  example: "DATABASE_URL=postgres://rowhouse_login:…@127.0.0.1:6432/rowhouse rowhouse serve",
  about: `Requires DATABASE_URL; pushes use ADMIN_DATABASE_URL (default: the same). Run rowhouse migrate first.
Logs JSON lines to standard output. While the database is unavailable, requests that require it get a 503 response
with Retry-After. On a signal to stop, requests in progress are finished (within 10 s); a second signal ends the
process immediately. With WORKERS above 1, that many processes share the port. Workers that exit are restarted, and
SIGHUP replaces them one by one without rejecting requests.

With a role other than all, the process serves one part: gateway authenticates callers, and forwards signed requests
to data and identity (UPSTREAM_DATA_URL, UPSTREAM_IDENTITY_URL). These accept only requests signed by the gateway.`,
  positionals: [],
  flags: {
    role: { value: "role", about: "all, gateway, data or identity; default: ROLE, else all" },
    worker: { value: "number", about: "the index of this worker; set by serve itself" },
  },
  run: runServe,
};

async function runServe({ args, env, terminal }: Setting): Promise<ExitCode> {
  const role = args.text("role");
  const config = await readServeSettings(role === undefined ? env : { ...env, ROLE: role });
  const log = openLog(config, terminal.print);
  const worker = args.text("worker");
  const logCrash = async () => {
    log("warn", "stopped immediately", {
      message: "A second signal aborted the requests in progress",
    });
    await terminal.flush();
  };
  if (worker === undefined) warnOfSettings(env, { config, log });
  if (config.WORKERS > 1 && worker === undefined)
    return await superviseWorkers({ config, log, logCrash });
  const address = { url: config.DATABASE_URL, variable: "DATABASE_URL" };
  const held = holdLog(log);
  const service = openFrom(config, {
    databaseUrl: address.url,
    adminDatabaseUrl: config.ADMIN_DATABASE_URL ?? address.url,
    log: held.log,
  });
  const stopped = worker === undefined ? untilSignal(STOP_SIGNALS, logCrash) : untilStopSignal();
  try {
    const isThere = await checkService(service, config);
    held.release();
    // Only the first of several workers warns.
    if (isThere && (worker ?? "0") === "0") {
      await warnOfLogins(service, { config, log });
    }
    const serving = listen(service, { ...toListenOptions(config, worker), log });
    log("info", "listening", {
      host: config.HOST,
      port: serving.port,
      role: config.ROLE,
      worker,
      version: RELEASE_TEXT,
    });
    if (worker !== undefined) reportListening();
    try {
      if (!isThere) await Promise.race([stopped, waitForDatabase(service, config, stopped)]);
      await stopped;
      log("info", "stopping");
    } finally {
      await serving.stop();
    }
    log("info", "stopped");
    return EXIT.done;
  } catch (error) {
    if (error instanceof IsolationError) throw new RejectedError(error.message);
    throw explainFailure(error, address);
  }
}

/** A log that holds back its lines until the service serves: a failed start prints only its error. */
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

function toListenOptions(config: Config, worker: string | undefined): Omit<ListenOptions, "log"> {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT } = config;
  const index = worker === undefined ? 0 : readWhole("--worker", worker, [0, 63]);
  return {
    host: HOST,
    port: PORT,
    admin: ADMIN_PORT === undefined ? undefined : { host: ADMIN_HOST, port: ADMIN_PORT + index },
    maxBytes: toWallBytes(config.MAX_RESPONSE_BYTES, config.MAX_BATCH_BYTES),
    isShared: worker !== undefined,
  };
}
