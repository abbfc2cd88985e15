/** The log of `dev`: on a terminal one readable line per request, elsewhere JSON lines as in `serve`. @module */
import type { Config, Environment } from "../../config.ts";
import { LOG_LEVELS, type Log, type LogFields } from "../../observe.ts";
import { openLog } from "../cli/open.ts";
import { makePaint, type Paint } from "../cli/paint.ts";

/** A log from `LOG_LEVEL` on, for what standard error is. */
export function openDevLog(
  config: Config,
  { env, write }: { env: Environment; write: (line: string) => void },
): Log {
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

/** With the route's template, as in the other log: the path may contain personal data. */
function showRequest(
  { method, route, status = 0, code, ms = 0, dbMs }: LogFields,
  paint: Paint,
): string {
  const shown = paint(status >= 500 ? "red" : status >= 400 ? "yellow" : "green", String(status));
  const database = dbMs === undefined ? "" : `, database ${dbMs.toFixed(1)} ms`;
  const why = code === undefined ? "" : ` ${code}`;
  return `${method} ${route} ${shown}${why} ${paint("dim", `${ms.toFixed(1)} ms${database}`)}`;
}

function showEvent(event: string, { message, error, stack }: LogFields): string {
  const words = [event, error, message].filter((word) => word !== undefined).join(": ");
  return stack === undefined ? words : `${words}\n${stack}`;
}
