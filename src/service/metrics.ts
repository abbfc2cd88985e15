/**
 * Metrics for Prometheus: requests, errors, the pool and the process. Labels are bounded: route templates, methods,
 * status classes and error codes, never a path, an app or a table. @see https://prometheus.io/docs/practices/naming/
 *
 * @module
 */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from "prom-client";
import { type PoolStats, RELEASE } from "../db/mod.ts";
import type { MailResult } from "../mail/mod.ts";
import type { ResponseRecord } from "../observe.ts";

export type Metrics = {
  readonly contentType: string;
  /** Every metric in Prometheus's text format. */
  readonly print: () => Promise<string>;
  readonly record: (response: ResponseRecord) => void;
  /** Counts the outcome of an email. */
  readonly recordMail: (mail: MailResult) => void;
};

type MetricsSources = {
  pools: Readonly<Record<string, () => PoolStats>>;
  inFlight: () => number;
  streamBytes: () => number;
};

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const METHODS = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);
/** Metrics of the process. The other default metrics are about V8, or wrong on Bun (process_heap_bytes). */
const REPORTED = /^(process_(cpu_|start_|resident_|open_|max_)|nodejs_eventloop_lag_)/;
/** Shared by all services of this process: collecting starts timers that never stop, and counts every object on the heap. */
let processMetrics: readonly Metric[] | undefined;

export function makeMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry();
  processMetrics ??= makeProcessMetrics();
  for (const metric of processMetrics) registry.registerMetric(metric);
  const registers = [registry];
  const duration = new Histogram({
    name: "rowhouse_request_duration_seconds",
    help: "Time from a request's arrival to its response",
    labelNames: ["route", "method", "status"],
    buckets: SECONDS,
    registers,
  });
  new Gauge({
    name: "rowhouse_build_info",
    help: "The version of this process: always 1",
    labelNames: ["version", "tables", "code"],
    registers,
  }).set(RELEASE, 1);
  const errors = new Counter({
    name: "rowhouse_errors_total",
    help: "Error responses, by code",
    labelNames: ["code"],
    registers,
  });
  new Gauge({
    name: "rowhouse_requests_in_flight",
    help: "Requests in progress",
    registers,
    collect() {
      this.set(sources.inFlight());
    },
  });
  new Gauge({
    name: "rowhouse_stream_bytes",
    help: "Bytes that event streams hold for slow readers",
    registers,
    collect() {
      this.set(sources.streamBytes());
    },
  });
  const mails = new Counter({
    name: "rowhouse_mails_total",
    help: "Attempts to send a mail, by outcome",
    labelNames: ["template", "outcome"],
    registers,
  });
  addPoolMetrics(sources.pools, registers);
  return {
    contentType: registry.contentType,
    print: () => registry.metrics(),
    record: ({ route, method, status, code, ms }) => {
      const labels = {
        route,
        method: METHODS.has(method) ? method : "other",
        status: `${Math.floor(status / 100)}xx`,
      };
      duration.observe(labels, ms / 1000);
      if (code !== undefined) errors.inc({ code });
    },
    recordMail: ({ template, outcome }) => mails.inc({ template, outcome }),
  };
}

function makeProcessMetrics(): Metric[] {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const names = register.getMetricsAsArray().map(({ name }) => name);
  return names.flatMap((name) =>
    REPORTED.test(name) ? (register.getSingleMetric(name) ?? []) : [],
  );
}

function addPoolMetrics(pools: MetricsSources["pools"], registers: Registry[]): void {
  new Gauge({
    name: "rowhouse_pool_connections",
    help: "Connections to the database, and callers that wait for a connection",
    labelNames: ["pool", "state"],
    registers,
    collect() {
      for (const [pool, stats] of Object.entries(pools)) {
        const { open, busy, connecting, waiting } = stats();
        for (const [state, count] of Object.entries({ open, busy, connecting, waiting }))
          this.set({ pool, state }, count);
      }
    },
  });
  new Counter({
    name: "rowhouse_shed_total",
    help: "Calls rejected before they reached the database, by reason",
    labelNames: ["pool", "reason"],
    registers,
    collect() {
      this.reset();
      for (const [pool, stats] of Object.entries(pools))
        for (const [reason, count] of Object.entries(stats().shed))
          this.inc({ pool, reason }, count);
    },
  });
}
