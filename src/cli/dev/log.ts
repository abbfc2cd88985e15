/** The log of `dev`: one readable line per request on a terminal, otherwise JSON lines as in `serve`. @module */
import { LOG_LEVELS, type Log, type LogFields } from "../../observe.ts";
import type { Environment } from "../../settings/environment.ts";
import type { Config } from "../../settings/mod.ts";
import { makePaint, type Paint } from "../paint.ts";
import { openLog } from "../settings.ts";

type DevLogOptions = { env: Environment; write: (line: string) => void };

/** A log that holds back request lines until `release()`, so that the start message of `dev` comes first. */
export function openDevLog(
  config: Config,
  { env, write }: DevLogOptions,
): { log: Log; release: () => void } {
  let held: string[] | undefined = [];
  const passing = openLines(config, { env, write });
  const holding = openLines(config, { env, write: (line) => void held?.push(line) });
  return {
    log: (level, event, fields) => {
      const isHeld = event === "request" && held !== undefined;
      (isHeld ? holding : passing)(level, event, fields);
    },
    release: () => {
      for (const line of held ?? []) write(line);
      held = undefined;
    },
  };
}

/** A log from `LOG_LEVEL` on, readable if standard error is a terminal. */
function openLines(config: Config, { env, write }: DevLogOptions): Log {
  if (process.stderr.isTTY !== true) return openLog(config, write);
  const paint = makePaint(env, true);
  const threshold = LOG_LEVELS.indexOf(config.LOG_LEVEL);
  return (level, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return;
    const time = new Date().toTimeString().slice(0, 8);
    write(
      `${paint("dim", time)} ${event === "request" ? showRequest(fields, paint) : showEvent(event, fields)}`,
    );
  };
}

/** Shows the route's template, not the path, which can contain personal data. */
function showRequest(
  { method, route, status = 0, code, ms = 0, dbMs }: LogFields,
  paint: Paint,
): string {
  const statusText = paint(
    status >= 500 ? "red" : status >= 400 ? "yellow" : "green",
    String(status),
  );
  const database = dbMs === undefined ? "" : `, database ${dbMs.toFixed(1)} ms`;
  const why = code === undefined ? "" : ` ${code}`;
  return `${method} ${route} ${statusText}${why} ${paint("dim", `${ms.toFixed(1)} ms${database}`)}`;
}

function showEvent(event: string, { message, error, stack }: LogFields): string {
  const terms = [event, error, message].filter((term) => term !== undefined).join(": ");
  return stack === undefined ? terms : `${terms}\n${stack}`;
}
