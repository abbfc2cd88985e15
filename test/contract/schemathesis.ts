/** Runs of Schemathesis over the endpoints of one table, and what its reports say. @module */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export type Summary = {
  cases: number;
  failures: string[];
  /** Operations that it did not try, or failed to. */
  untried: number;
  /** What it tells besides; such as that most of its writes were rejected. */
  warnings: string[];
  /** Requests of its own without the key, or with a wrong one: it makes no further checks of their responses. */
  probes: number;
  seconds: number;
  /** What it printed, where it found something. */
  output: string;
};

export type Trial = {
  programs: string;
  folder: string;
  document: string;
  table: string;
  cases: number;
  seed: number;
  /** The first three numbers of its addresses. Each run is a client of its own: so many keys that are none are not let by. */
  network: string;
  env: Readonly<Record<string, string>>;
};

const PLACE = join(import.meta.dirname, "schemathesis");
/** It is told how many to make of each operation and phase, and makes about so many times as many; less in later rounds. */
const FIRST_YIELD = 8;
const LATER_YIELD = 4;
const LEAST_OF_OPERATION = 20;
const MAX_ROUNDS = 20;

/** All phases, then others of its random ones until there are as many cases as wanted. */
export async function tryTable(trial: Trial): Promise<Summary> {
  const rounds: Summary[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = trial.cases - sum(rounds.map(({ cases }) => cases));
    if (missing <= 0) break;
    rounds.push(await tryOnce(trial, { round, missing }));
    if (rounds.some(({ output }) => output !== "")) break;
  }
  return {
    cases: sum(rounds.map(({ cases }) => cases)),
    failures: rounds.flatMap(({ failures }) => failures),
    untried: sum(rounds.map(({ untried }) => untried)),
    warnings: [...new Set(rounds.flatMap(({ warnings }) => warnings))],
    probes: sum(rounds.map(({ probes }) => probes)),
    seconds: sum(rounds.map(({ seconds }) => seconds)),
    output: rounds.map(({ output }) => output).join(""),
  };
}

async function tryOnce(
  { programs, folder, document, table, seed, network, env }: Trial,
  { round, missing }: { round: number; missing: number },
): Promise<Summary> {
  const place = join(folder, `${table}-${round}`);
  mkdirSync(place);
  const report = join(place, "report.json");
  const examples = Math.max(
    Math.ceil(missing / (round === 0 ? FIRST_YIELD : LATER_YIELD)),
    LEAST_OF_OPERATION,
  );
  const phases = round === 0 ? "examples,coverage,fuzzing,stateful" : "fuzzing,stateful";
  const child = Bun.spawn(
    [
      ...[join(programs, "schemathesis"), `--config-file=${join(PLACE, "schemathesis.toml")}`],
      ...["run", document, `--url=${env["CONTRACT_URL"]}`, "--checks=all"],
      ...[`--include-path-regex=^/v1/data/db/${table}(/|$)`, `--phases=${phases}`],
      ...[`--max-examples=${examples}`, `--seed=${seed + round}`, "--continue-on-failure"],
      ...["--generation-database=none", "--no-color", "--report=json"],
      `--report-json-path=${report}`,
    ],
    {
      cwd: place,
      env: { ...process.env, ...env, ...HOOKS, CONTRACT_ADDRESS: `${network}.${round + 1}` },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const output = await new Response(child.stdout).text();
  return readSummary(await Bun.file(report).json(), (await child.exited) === 0 ? "" : output);
}

const HOOKS = {
  SCHEMATHESIS_HOOKS: "hooks",
  PYTHONPATH: PLACE,
  PYTHONDONTWRITEBYTECODE: "1",
};

type Report = {
  running_time: number;
  complete: boolean;
  operations: { selected: number; tested: number };
  test_cases: { generated: number; without_checks: number; errored: number };
  failures: { title: string; operations: string[] }[];
  errors: unknown[];
  warnings: Readonly<Record<string, string[]>>;
};

function readSummary(report: Report, output: string): Summary {
  const { operations, test_cases: cases, failures, errors, warnings } = report;
  return {
    cases: cases.generated,
    failures: [
      ...failures.map((one) => `${one.title}: ${one.operations.join(", ")}`),
      ...errors.map((error) => JSON.stringify(error)),
      ...(report.complete ? [] : ["It did not come to its end"]),
    ],
    untried: operations.selected - operations.tested + cases.errored,
    warnings: Object.entries(warnings).flatMap(([name, of]) => of.map((one) => `${name}: ${one}`)),
    probes: cases.without_checks,
    seconds: report.running_time,
    output,
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
