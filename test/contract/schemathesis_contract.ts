/** Schemathesis tries the service by its document: every check and phase, and so many cases of each column kind. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KINDS, type Kind } from "../../src/dsl/mod.ts";
import { casesOfRun } from "./cases.ts";
import { TABLE_OF } from "./every_kind.ts";
import { findPython } from "./python.ts";
import { type Summary, sum, tryTable } from "./schemathesis.ts";
import { openServed, type Served } from "./served.ts";

const WORKERS = 2;
/** The same cases in every run. */
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
  // One after the other: a push that meets another is told to come again.
  for (const [kind, trial] of trials) waiting.push({ kind, trial, env: await makeEnv() });
  for (let worker = 0; worker < WORKERS; worker++) void work(waiting, python);
});
afterAll(async () => {
  await served?.close();
  if (summaries.length > 0) console.log(show("Schemathesis, in all", summaries));
});

describe("Schemathesis", () => {
  if ("missing" in python) test.skip(python.missing, () => undefined);
  test.each("missing" in python ? [] : [...KINDS])(
    "finds no difference between the service and its document: %s",
    async (kind) => {
      const found = await trials.get(kind)?.promise;
      if (found === undefined) throw new Error(`Nothing was tried of ${kind}`);
      summaries.push(found);
      console.log(show(`Schemathesis, ${kind}`, [found]));
      if (found.output !== "") console.log(found.output);
      expect(found).toMatchObject({ failures: [], untried: 0, output: "" });
      expect(found.cases).toBeGreaterThanOrEqual(cases);
    },
  );
});

type Trial = {
  kind: Kind;
  trial: PromiseWithResolvers<Summary>;
  env: Readonly<Record<string, string>>;
};

/** Tries one kind after the other, as long as one waits. */
async function work(waiting: Trial[], { programs }: { programs: string }): Promise<void> {
  const { folder, document } = served;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { kind, trial, env } = next;
    const table = TABLE_OF[kind];
    const network = `10.0.${KINDS.indexOf(kind)}`;
    await tryTable({ programs, folder, document, table, cases, seed: SEED, network, env }).then(
      trial.resolve,
      trial.reject,
    );
  }
}

/** An app of its own: no kind's trial deletes what another's refers to. */
async function makeEnv(): Promise<Readonly<Record<string, string>>> {
  const client = await served.makeClient();
  const { CONTRACT_KEY = "" } = client;
  return {
    ...client,
    CONTRACT_STRING_ID: await served.makeRow(CONTRACT_KEY, "strings", { wanted: "referred to" }),
    CONTRACT_REF_ID: await served.makeRow(CONTRACT_KEY, "refs", {}),
  };
}

function show(name: string, of: readonly Summary[]): string {
  const seconds = Math.round(sum(of.map((one) => one.seconds)));
  const warnings = of.flatMap((one) => one.warnings);
  return [
    `${name}: ${sum(of.map((one) => one.cases))} cases of ${cases * of.length} wanted`,
    `${sum(of.map((one) => one.failures.length))} failures, no check excluded`,
    `${sum(of.map((one) => one.untried))} operations not tried`,
    `${sum(of.map((one) => one.probes))} probes of its own without a valid key`,
    `${seconds} s of trials${warnings.map((one) => `; ${one}`).join("")}`,
  ].join("; ");
}
