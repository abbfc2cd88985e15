/**
 * The load: autocannon in its own process, so that it never shares a thread with the measured server. Reads a
 * {@linkcode LoadPlan} from standard input and prints a {@linkcode LoadResult}.
 *
 * @module
 */
import autocannon from "autocannon";
import { percentile } from "./rounds.ts";

export type LoadRequest = {
  method: "GET" | "POST" | "PATCH";
  path: string;
  headers: Record<string, string>;
  body?: string;
};
export type LoadPlan = {
  url: string;
  connections: number;
  seconds: number;
  /** The status that every response must have. */
  status: number;
  requests: LoadRequest[];
  /** Whether every request has its own idempotency key. */
  hasKeys?: boolean;
};
export type LoadResult = {
  count: number;
  seconds: number;
  /** Responses with another status, and requests without one. */
  failures: number;
  p50Ms: number;
  p99Ms: number;
};

/** The number of requests that a connection repeats, drawn from the plan's. */
const MAX_PER_CONNECTION = 300;

const plan = JSON.parse(await Bun.stdin.text()) as LoadPlan;
const times: number[] = [];
let failures = 0;
const startedAt = performance.now();
const ended = Promise.withResolvers<number>();
const options = {
  url: plan.url,
  connections: plan.connections,
  duration: plan.seconds,
  requests: plan.requests.slice(0, 1),
  // With the same list, all connections would write the same row at the same time.
  setupClient: (client: autocannon.Client) => client.setRequests(draw(plan.requests)),
};
// With a callback, autocannon returns an emitter of events; without a callback, a promise of the end.
const run = autocannon(options, (error, { errors }) =>
  error ? ended.reject(error) : ended.resolve(errors),
);
run.on("response", (_client, status, _bytes, milliseconds) => {
  times.push(milliseconds);
  if (status !== plan.status) failures++;
});
const errors = await ended.promise;
const seconds = (performance.now() - startedAt) / 1000;
times.sort((a, b) => a - b);
const result: LoadResult = {
  count: times.length,
  seconds,
  failures: failures + errors,
  p50Ms: percentile(times, 0.5),
  p99Ms: percentile(times, 0.99),
};
process.stdout.write(JSON.stringify(result));
process.exit(0);

function draw(requests: readonly LoadRequest[]): LoadRequest[] {
  const count = Math.min(requests.length, MAX_PER_CONNECTION);
  return Array.from({ length: count }, () => {
    const request = requests[Math.floor(Math.random() * requests.length)];
    if (request === undefined) throw new Error("The plan has no request");
    return plan.hasKeys === true ? { ...request, setupRequest: addKey } : { ...request };
  });
}

function addKey(request: autocannon.Request): autocannon.Request {
  const headers = { ...request.headers, "idempotency-key": crypto.randomUUID() };
  return { ...request, headers };
}
