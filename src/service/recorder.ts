/** Writes the log line of each response, and counts it for metrics and the Console. @module */

import { readPresentedKeyId } from "../gateway/mod.ts";
import type { Log, ResponseRecord } from "../observe.ts";
import { isFailure } from "../problem.ts";
import type { RejectedRequest } from "./fetch.ts";
import type { makeMetrics } from "./metrics.ts";
import type { makeOutage } from "./outage.ts";
import type { Rejection } from "./rejections.ts";
import type { Parts, RoleOptions } from "./role_parts.ts";
import type { startStatistics } from "./statistics.ts";

type Options = Pick<RoleOptions, "keyPrefix"> & { log: Log };
type Recorders = {
  metrics: ReturnType<typeof makeMetrics>;
  outage: ReturnType<typeof makeOutage>;
  statistics: ReturnType<typeof startStatistics>;
};

/** Logs and counts each response. */
export function makeRecorder(
  options: Options,
  { metrics, outage, statistics }: Recorders,
): Parts["shared"]["onResponse"] {
  return (response, rejected) => {
    options.log(isFailure(response) ? "warn" : "info", "request", response);
    metrics.record(response);
    outage.record(response);
    statistics.record(response, rejected && toRejection(options, response, rejected));
  };
}

function toRejection(
  { keyPrefix }: Options,
  { appId }: ResponseRecord,
  { request, params, details, found, parameters }: RejectedRequest,
): Rejection {
  const presentedKey = appId === undefined ? readPresentedKeyId(request, keyPrefix) : undefined;
  return { table: params["table"], presentedKey, details, found, parameters };
}
