/** Results of identity, gateway, fairness, admission, storm and soak as tables, with what they were measured under. Pure. @module */
import type { AdmissionResult } from "./admission.ts";
import { type CeilingResult, SIDES, type Side } from "./ceiling.ts";
import type { FairnessResult } from "./fairness.ts";
import { type GatewayResult, SHAPES, type Shape } from "./gateway.ts";
import type { IdentityResult } from "./identity.ts";
import type { Run } from "./load.ts";
import { show, table, times } from "./print.ts";
import type { Held, SoakResult } from "./soak.ts";
import { PHASES, type StormResult } from "./storm.ts";

export function printIdentity(result: IdentityResult): string {
  const { quiet, signIns, meToGet } = result;
  const rows = [
    ["`GET /v1/auth/me?app=`", ...showRun(result.me), times(meToGet)],
    ["get one row", ...showRun(result.get), undefined],
  ];
  const lines = table(["request", "req/s", "p50 ms", "p99 ms", "÷ get"], rows);
  const slow = table(
    [`${signIns.count} sign-ins at once`, "ms"],
    [
      [`p99 of /v1/auth/me, ${quiet.connections} callers, alone`, show(quiet.aloneP99Ms, 2)],
      ["the same while they sign in, again and again", show(quiet.duringP99Ms, 2)],
      ["all sign-ins, nothing else to do", show(signIns.aloneMs, 0)],
      ["all sign-ins while the callers ask", show(signIns.duringMs, 0)],
      ["as many hashes alone in the same process", show(signIns.hashesMs, 0)],
      ["sign-ins ÷ hashes", times(signIns.toHashes)],
    ],
  );
  return `${lines}\n\n${slow}\n\n${conditions(result)}`;
}

const SHAPE_NAMES: Readonly<Record<Shape, string>> = {
  one: "one process",
  split: "gateway and data service",
  unsigned: "the same without signatures",
};

export function printGateway(result: GatewayResult): string {
  const ratios = { one: undefined, split: result.splitToOne, unsigned: undefined };
  const rows = SHAPES.map((shape) => [
    SHAPE_NAMES[shape],
    ...showRun(result.shapes[shape]),
    times(ratios[shape]),
    shape === "split" ? times(result.signedToUnsigned) : undefined,
  ]);
  const head = ["get one row by", "req/s", "p50 ms", "p99 ms", "÷ one process", "÷ unsigned"];
  return `${table(head, rows)}\n\n${conditions(result)}`;
}

const SIDE_NAMES: Readonly<Record<Side, string>> = {
  service: "Rowhouse",
  bare: "the same call behind Bun.serve, nothing else",
  plain: "plain Bun.serve",
};

export function printCeiling(result: CeilingResult): string {
  const { sides, limit, serviceToBare, bareToPlain, bareToLimit } = result;
  const cpu = ({ serverCpu, databaseCpu }: Run) => [
    serverCpu === undefined ? undefined : show(serverCpu * 1000, 0),
    databaseCpu === undefined ? undefined : show(databaseCpu * 1000, 0),
  ];
  const rows = SIDES.map((side) => [
    SIDE_NAMES[side],
    ...showRun(sides[side]),
    ...cpu(sides[side]),
    side === "service" ? times(serviceToBare) : undefined,
  ]);
  if (limit !== undefined)
    rows.push(["the call by pgbench", ...showRun(limit), ...cpu(limit), undefined]);
  const head = [
    "get one row by",
    "req/s",
    "p50 ms",
    "p99 ms",
    "server µs",
    "database µs",
    "÷ bare",
  ];
  const reach = bareToLimit === undefined ? "" : ` and ${times(bareToLimit)} the call by pgbench`;
  return `${table(head, rows)}\n\nThe bare server reaches ${times(bareToPlain)} the plain one${reach}: more, no server of Bun.serve and postgres.js reaches here. ${conditions(result)}`;
}

export function printFairness(result: FairnessResult): string {
  const { byApp, oneQueue } = result;
  const rows = (
    [
      ["turns by app", byApp],
      ["one queue", oneQueue],
    ] as const
  ).map(([name, side]) => [
    name,
    show(side.getP99Ms, 1),
    show(side.getsPerSecond, 0),
    side.getFailures,
    show(side.listsPerSecond, 0),
    side.listFailures,
  ]);
  rows.push(["by app ÷ one queue", times(result.getP99Ratio), "", "", times(result.listsKept), ""]);
  const head = [
    "200 lists of 1,000 rows at once beside 5 gets",
    "get p99 ms",
    "gets/s",
    "gets refused",
    "lists/s",
    "lists refused",
  ];
  return `${table(head, rows)}\n\nMedian of ${result.rounds} × ${result.seconds} s, callers and service in one process.`;
}

export function printAdmission(result: AdmissionResult): string {
  const rows = (
    [
      ["through the pool", result.pool],
      ["by the driver alone", result.driver],
    ] as const
  ).map(([name, side]) => [
    name,
    show(side.perSecond, 0),
    show(side.p50Us, 0),
    show(side.p99Us, 0),
    show(side.cpuUs, 1),
  ]);
  rows.push(["what the pool adds", times(result.poolToDriver), "", "", show(result.addedCpuUs, 1)]);
  const head = ["call of a get", "calls/s", "p50 µs", "p99 µs", "CPU µs a call"];
  return `${table(head, rows)}\n\n${conditions(result)}`;
}

export function printStorm(result: StormResult): string {
  const ratios = { before: undefined, during: result.duringToBefore, after: result.afterToBefore };
  const rows = PHASES.map((phase) => {
    const { perSecond, p99Ms, refused } = result.phases[phase];
    return [phase, show(perSecond, 0), show(p99Ms, 1), refused, times(ratios[phase])];
  });
  const head = ["connections killed", "good answers/s", "p99 ms", "refused", "÷ before"];
  const note = `All is well ${show(result.recoveryMs, 0)} ms after the last of ${show(result.killed, 0)} kills (the longest of ${result.rounds} rounds of ${result.seconds} s a phase); ${result.foreign} answers were somebody else's; ${result.callers} callers in the service's process, a pool of ${result.pool}.`;
  return `${table(head, rows)}\n\n${note}`;
}

export function printSoak(result: SoakResult): string {
  const row = (name: string, read: (held: Held) => number | undefined, digits: number) => [
    name,
    show(read(result.start), digits),
    show(read(result.end), digits),
  ];
  const lines = table(
    [`${show(result.seconds / 60, 1)} minutes of mixed requests`, "start", "end"],
    [
      row("memory MB", ({ memoryMb }) => memoryMb, 0),
      row("sockets", ({ sockets }) => sockets, 0),
      row("database connections", ({ databaseConnections }) => databaseConnections, 0),
    ],
  );
  const slope = show(result.memorySlopeMbPerMinute, 2) ?? "–";
  return `${lines}\n\nMemory grows by ${slope} MB a minute; ${show(result.reads.perSecond, 0)} gets, lists and updates a second (p99 ${show(result.reads.p99Ms, 1)} ms) and ${show(result.creates.perSecond, 0)} creates; ${result.connections} connections, a pool of ${result.pool}.`;
}

function showRun({ perSecond, p50Ms, p99Ms }: Run): (string | undefined)[] {
  return [show(perSecond, 0), show(p50Ms, 2), show(p99Ms, 2)];
}

function conditions(result: { connections: number; rounds: number; seconds: number }): string {
  return `${result.connections} connections, median of ${result.rounds} × ${result.seconds} s.`;
}
