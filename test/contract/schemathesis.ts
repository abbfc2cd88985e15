/** Runs Schemathesis on the endpoints of a table, and reads its reports. @module */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export type Summary = {
  cases: number;
  failures: string[];
  /** Operations that it skipped or failed to test. */
  untested: number;
  /** Its warnings, for example that the service rejected most writes. */
  warnings: string[];
  /** Its requests without a valid key. It runs no other checks on their responses. */
  probes: number;
  seconds: number;
  /** Its output if it failed. */
  output: string;
};

export type Trial = {
  programs: string;
  folder: string;
  document: string;
  table: string;
  cases: number;
  seed: number;
  /** The first three numbers of its IP address. Each run has its own address, because invalid keys are limited per address. */
  network: string;
  env: Readonly<Record<string, string>>;
};

const FOLDER = join(import.meta.dirname, "schemathesis");
/** Schemathesis runs about this many times the requested number of examples per operation and phase; fewer in later rounds. */
const FIRST_YIELD = 8;
const LATER_YIELD = 4;
const MIN_EXAMPLES = 20;
const MAX_ROUNDS = 20;

/** Runs all phases, and then the random phases until the requested number of cases is reached. */
export async function testTable(trial: Trial): Promise<Summary> {
  const rounds: Summary[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = trial.cases - sum(rounds.map(({ cases }) => cases));
    if (missing <= 0) break;
    rounds.push(await runOnce(trial, { round, missing }));
    if (rounds.some(({ output }) => output !== "")) break;
  }
  return {
    cases: sum(rounds.map(({ cases }) => cases)),
    failures: rounds.flatMap(({ failures }) => failures),
    untested: sum(rounds.map(({ untested }) => untested)),
    warnings: [...new Set(rounds.flatMap(({ warnings }) => warnings))],
    probes: sum(rounds.map(({ probes }) => probes)),
    seconds: sum(rounds.map(({ seconds }) => seconds)),
    output: rounds.map(({ output }) => output).join(""),
  };
}

async function runOnce(
  { programs, folder, document, table, seed, network, env }: Trial,
  { round, missing }: { round: number; missing: number },
): Promise<Summary> {
  const runFolder = join(folder, `${table}-${round}`);
  mkdirSync(runFolder);
  const report = join(runFolder, "report.json");
  const examples = Math.max(
    Math.ceil(missing / (round === 0 ? FIRST_YIELD : LATER_YIELD)),
    MIN_EXAMPLES,
  );
  const phases = round === 0 ? "examples,coverage,fuzzing,stateful" : "fuzzing,stateful";
  const child = Bun.spawn(
    [
      ...[join(programs, "schemathesis"), `--config-file=${join(FOLDER, "schemathesis.toml")}`],
      ...["run", document, `--url=${env["CONTRACT_URL"]}`, "--checks=all"],
      ...[`--include-path-regex=^/v1/data/db/${table}(/|$)`, `--phases=${phases}`],
      ...[`--max-examples=${examples}`, `--seed=${seed + round}`, "--continue-on-failure"],
      ...["--generation-database=none", "--no-color", "--report=json"],
      `--report-json-path=${report}`,
    ],
    {
      cwd: runFolder,
      env: { ...process.env, ...env, ...HOOKS, CONTRACT_ADDRESS: `${network}.${round + 1}` },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const output = await new Response(child.stdout).text();
  return readSummary(await Bun.file(report).json(), (await child.exited) === 0 ? "" : output);
}

const HOOKS = { SCHEMATHESIS_HOOKS: "hooks", PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: "1" };

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
      ...failures.map(({ title, operations: failed }) => `${title}: ${failed.join(", ")}`),
      ...errors.map((error) => JSON.stringify(error)),
      ...(report.complete ? [] : ["Schemathesis did not complete"]),
    ],
    untested: operations.selected - operations.tested + cases.errored,
    warnings: Object.entries(warnings).flatMap(([name, texts]) =>
      texts.map((text) => `${name}: ${text}`),
    ),
    probes: cases.without_checks,
    seconds: report.running_time,
    output,
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
