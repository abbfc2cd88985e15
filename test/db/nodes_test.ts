import { describe, expect, test } from "bun:test";
import { recordNodeError } from "../../src/db/citus/node_error.ts";
import { makeNodeMap } from "../../src/db/citus/nodes.ts";
import { hashBytes } from "../../src/db/citus/shard_names.ts";
import { findUnreachableNode, readRows, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { isWorthAnother, readSqlState, toDatabaseError } from "../../src/db/sqlstate.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";

const HALVES = [
  { name: "low", ranges: [[-(2 ** 31), -1] as const] },
  { name: "high", ranges: [[0, 2 ** 31 - 1] as const] },
];

test("an app's node is found by PostgreSQL's hash of its id", async () => {
  const ids = Array.from({ length: 50 }, () => crypto.randomUUID());
  const rows = await withDatabase(clusterUrls()?.admin ?? "", (admin) =>
    readRows<{ id: string; hash: number }>(
      admin,
      "select id, uuid_hash(id::uuid) as hash from unnest(string_to_array($1, ',')) as id",
      [ids.join()],
    ),
  );
  expect(rows).toHaveLength(ids.length);
  const map = makeNodeMap();
  expect(ids.map(map.find)).toEqual(ids.map(() => undefined));
  map.update(HALVES);
  for (const { id, hash } of rows) {
    expect(hashBytes(Buffer.from(id.replaceAll("-", ""), "hex"))).toBe(hash);
    expect(map.find(id)).toBe(hash < 0 ? "low" : "high");
  }
  expect(map.find(SERVICE_QUEUE)).toBeUndefined();
});

test("a node is silent until it responds to a later request", () => {
  const map = makeNodeMap();
  map.update(HALVES);
  const app = crypto.randomUUID();
  const [name = ""] = [map.find(app)];
  map.setSilence(name, 100);
  map.hear(app, 99);
  expect([map.isSilent(app), map.isSilent(SERVICE_QUEUE)]).toEqual([true, false]);
  expect(map.findSilent()).toBe(name);
  map.hear(app, 100);
  expect(map.isSilent(app)).toBe(false);
  map.setSilence(name, 200);
  map.setSilence(name, undefined);
  expect(map.isSilent(app)).toBe(false);
});

const ON_NODE =
  "connection to the remote node login@10.0.0.2:5432 failed with the following error: ";

/** Errors that Citus forwards for an unfinished write. */
test.each([
  { message: `${ON_NODE}Connection refused\n\tIs the server running`, expected: "unavailable" },
  { message: `${ON_NODE}FATAL:  the database system is starting up`, expected: "unavailable" },
  { message: `${ON_NODE}FATAL:  the database system is shutting down`, expected: "unavailable" },
  { message: `${ON_NODE}server closed the connection unexpectedly`, expected: "unknown_outcome" },
  { message: `${ON_NODE}FATAL:  terminating connection`, expected: "unknown_outcome" },
  { message: `${ON_NODE}connection not open`, expected: "unknown_outcome" },
  {
    message: "could not establish any connections to the node 10.0.0.2:5432 after 30000 ms",
    expected: "unavailable",
  },
])("a write that ended with $message is reported as $expected", ({ message, expected }) => {
  const error = Object.assign(new Error(message), { code: "08006" });
  const call = { retry: "unsafe", isTimedOut: false, isEarly: true, isHandedOver: true } as const;
  expect(toDatabaseError(error, call)).toMatchObject({ code: expected });
});

const UNSENT = { retry: "unsafe", isTimedOut: false, isEarly: true, isHandedOver: false } as const;

function makeFailure(warning?: { code: string; message: string }): Error {
  const message = "failure on connection marked as essential: 10.0.0.2:5432";
  const error = Object.assign(new Error(message), { code: "XX000" });
  recordNodeError(error, warning);
  return error;
}

test.each([
  { code: "55P03", message: "canceling statement due to lock timeout", expected: "unavailable" },
  { code: "40P01", message: "deadlock detected", expected: "unavailable" },
  { code: "42P01", message: 'relation "data.todos" does not exist', expected: undefined },
  { code: "XX000", message: "tuple concurrently updated", expected: undefined },
])("a command that failed on another node has the code $code of the node's error", (row) => {
  const thrown = toDatabaseError(makeFailure(row), UNSENT);
  expect(Object(thrown).code === "XX000" ? undefined : Object(thrown).code).toBe(row.expected);
  expect([readSqlState(thrown), findUnreachableNode(thrown)]).toEqual([row.code, undefined]);
});

test.each([
  { code: "57P01", message: "terminating connection due to administrator command" },
  { code: "08006", message: "connection to the remote node a@10.0.0.2:5432 failed" },
  { code: "XX000", message: "server closed the connection unexpectedly" },
])("a node that was lost with $code $message is named as unreachable", (warning) => {
  const thrown = toDatabaseError(makeFailure(warning), UNSENT);
  expect(thrown).toMatchObject({ code: "unavailable" });
  expect(findUnreachableNode(thrown)).toBe("10.0.0.2:5432");
});

test("a command that failed on another node without a warning is not reported as a lock timeout", () => {
  const error = makeFailure();
  expect(toDatabaseError(error, UNSENT)).toBe(error);
  expect(readSqlState(error)).toBe("XX000");
});

describe("a canceled statement is", () => {
  const write = { retry: "unsafe", isTimedOut: false, isEarly: true, isHandedOver: false } as const;
  test.each([
    {
      name: "a timeout at the service's limit",
      call: { ...write, isTimedOut: true },
      code: "timeout",
    },
    {
      name: "a timeout at the server's limit",
      call: { ...write, isEarly: false },
      code: "timeout",
    },
    { name: "unavailable before the limit", call: write, code: "unavailable" },
    {
      name: "of unknown outcome if a node could continue a write",
      call: { ...write, isHandedOver: true },
      code: "unknown_outcome",
    },
    {
      name: "a timeout if a node could continue a read",
      call: { ...write, retry: "safe", isTimedOut: true, isHandedOver: true },
      code: "timeout",
    },
  ] as const)("$name", ({ call, code }) => {
    const error = Object.assign(new Error("canceling statement"), { code: "57014" });
    expect(toDatabaseError(error, call)).toMatchObject({ code });
    expect(isWorthAnother({ ...call, error, isAsked: call.isTimedOut }, 1)).toBe(
      code === "unavailable",
    );
  });
});
