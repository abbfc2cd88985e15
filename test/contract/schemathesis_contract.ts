/** Schemathesis tests the service against its document: all checks and phases, for each column kind. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KINDS, type Kind } from "../../src/schema/mod.ts";
import { casesOfRun } from "./cases.ts";
import { TABLE_OF } from "./every_kind.ts";
import { findPython } from "./python.ts";
import { type Summary, sum, testTable } from "./schemathesis.ts";
import { openServed, type Served } from "./served.ts";

const WORKERS = 2;
/** A fixed seed, so that every run has the same cases. */
const SEED = 20_260_102;

const python = await findPython();
const cases = casesOfRun();
const trials = new Map<Kind, PromiseWithResolvers<Summary>>(
  KINDS.map((kind) => [kind, Promise.withResolvers()]),
);
const summaries: Summary[] = [];
let served: Served;
beforeAll(async () => {
  served = await openServed();
  if ("missing" in python) return;
  const waiting: Trial[] = [];
  // Sequential, because the service rejects concurrent pushes.
  for (const [kind, trial] of trials) waiting.push({ kind, trial, env: await makeEnv() });
  for (let worker = 0; worker < WORKERS; worker++) void work(waiting, python);
});
afterAll(async () => {
  await served?.close();
  if (summaries.length > 0) console.log(describeSummaries("Schemathesis, in total", summaries));
});

describe("Schemathesis", () => {
  if ("missing" in python) test.skip(python.missing, () => undefined);
  test.each("missing" in python ? [] : [...KINDS])(
    "finds no difference between the service and its document: %s",
    async (kind) => {
      const summary = await trials.get(kind)?.promise;
      if (summary === undefined) throw new Error(`There is no trial of ${kind}`);
      summaries.push(summary);
      console.log(describeSummaries(`Schemathesis, ${kind}`, [summary]));
      if (summary.output !== "") console.log(summary.output);
      expect(summary).toMatchObject({ failures: [], untested: 0, output: "" });
      expect(summary.cases).toBeGreaterThanOrEqual(cases);
    },
  );
});

type Trial = {
  kind: Kind;
  trial: PromiseWithResolvers<Summary>;
  env: Readonly<Record<string, string>>;
};

/** Tests one kind after the other, until none is waiting. */
async function work(waiting: Trial[], { programs }: { programs: string }): Promise<void> {
  const { folder, document } = served;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { kind, trial, env } = next;
    const table = TABLE_OF[kind];
    const network = `10.0.${KINDS.indexOf(kind)}`;
    await testTable({ programs, folder, document, table, cases, seed: SEED, network, env }).then(
      trial.resolve,
      trial.reject,
    );
  }
}

/** Creates an app for a trial, so that no trial deletes rows that another trial references. */
async function makeEnv(): Promise<Readonly<Record<string, string>>> {
  const client = await served.makeClient();
  const { CONTRACT_KEY = "" } = client;
  return {
    ...client,
    CONTRACT_STRING_ID: await served.makeRow(CONTRACT_KEY, "strings", { wanted: "referred to" }),
    CONTRACT_REF_ID: await served.makeRow(CONTRACT_KEY, "refs", {}),
  };
}

function describeSummaries(name: string, list: readonly Summary[]): string {
  const seconds = Math.round(sum(list.map((summary) => summary.seconds)));
  const warnings = list.flatMap((summary) => summary.warnings);
  return [
    `${name}: ${sum(list.map((summary) => summary.cases))} cases of ${cases * list.length} requested`,
    `${sum(list.map(({ failures }) => failures.length))} failures, no check excluded`,
    `${sum(list.map(({ untested }) => untested))} untested operations`,
    `${sum(list.map(({ probes }) => probes))} probes without a valid key`,
    `${seconds} s of trials${warnings.map((warning) => `; ${warning}`).join("")}`,
  ].join("; ");
}
