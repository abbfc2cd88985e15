/** What the bench's command line says. Refuses what it does not know, so that a typo measures nothing. @module */
import { parseArgs } from "node:util";

export const COMMANDS = ["requests", "growth", "push", "start", "readme"] as const;
export type Command = (typeof COMMANDS)[number];

export type BenchOptions = {
  command: Command;
  /** Print the result as JSON instead of tables. */
  json: boolean;
  /** Write the result to test/bench/results/. */
  save: boolean;
  /** The largest size of `growth` too, which takes minutes to fill. */
  full: boolean;
  /** Scenarios to run; all when empty. */
  only: readonly string[];
  rounds: number;
  seconds: number;
  connections: number;
  pool: number;
  apps: number;
  rows: number;
  /** Where the house's CPU profile goes; none when absent. */
  profile: string | undefined;
};

export const USAGE = `bun run bench [requests|growth|push|start|readme] [--quick] [--only get,list-100] [--json] [--save]
  requests   get, list, create and update beside pgbench, a plain server and PostgREST's statements (the default)
  growth     get and list over more apps and more rows; --full goes to 10,000,000 rows
  push       plan, push and types of 150 tables of 25 columns
  start      from the command to the first answer
  readme     writes the newest saved result into README.md
  --rounds 5 --seconds 5 --connections 32 --pool 10 --apps 100 --rows 1000 --profile <folder>
  ADMIN_DATABASE_URL names the PostgreSQL to use; an embedded one is started when it is empty`;

const QUICK = { rounds: 3, seconds: 1.5 };
const USUAL = { rounds: 5, seconds: 5 };

/** @throws {Error} an unknown command, flag or number */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      profile: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      connections: { type: "string", default: "32" },
      pool: { type: "string", default: "10" },
      apps: { type: "string", default: "100" },
      rows: { type: "string", default: "1000" },
    },
  });
  const lengths = values.quick ? QUICK : USUAL;
  return {
    command: readCommand(positionals),
    json: values.json,
    save: values.save,
    full: values.full,
    only: values.only?.split(",") ?? [],
    rounds: readNumber("rounds", values.rounds, lengths.rounds),
    seconds: readNumber("seconds", values.seconds, lengths.seconds),
    connections: readNumber("connections", values.connections),
    pool: readNumber("pool", values.pool),
    apps: readNumber("apps", values.apps),
    rows: readNumber("rows", values.rows),
    profile: values.profile,
  };
}

function readCommand([word = "requests", ...more]: readonly string[]): Command {
  const command = COMMANDS.find((known) => known === word);
  if (command === undefined || more.length > 0)
    throw new Error(
      `Cannot run "${[word, ...more].join(" ")}": must be one of ${COMMANDS.join(", ")}`,
    );
  return command;
}

function readNumber(name: string, text: string | undefined, initial = 0): number {
  if (text === undefined) return initial;
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`Cannot read --${name} "${text}": must be a number above 0`);
}
