/** What the bench's command line says. Refuses what it does not know, so that a typo measures nothing. @module */
import { parseArgs } from "node:util";

export const COMMANDS = [
  "requests",
  "growth",
  "push",
  "start",
  "ceiling",
  "identity",
  "gateway",
  "fairness",
  "admission",
  "storm",
  "soak",
  "readme",
] as const;
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
  /** How long `soak` lasts. */
  soakSeconds: number;
  connections: number;
  pool: number;
  apps: number;
  rows: number;
  /** Where the service's CPU profile goes; none when absent. */
  profile: string | undefined;
};

export const USAGE = `bun run bench [<command>] [--quick] [--only get,list-100] [--json] [--save]
  requests   get, list, create and update beside pgbench, a plain server and PostgREST's statements (the default)
  growth     get and list over more apps and more rows; --full goes to 10,000,000 rows
  push       plan, push and types of 150 tables of 25 columns
  start      from the command to the first answer
  ceiling    a get beside the same call behind Bun.serve and nothing else
  identity   /v1/auth/me beside a get, and while 32 people sign in
  gateway    a get by one process, by gateway and data service, and by the same without signatures
  fairness   an app that gets while another floods, with turns by app and with one queue
  admission  a call through the pool beside the same by the driver alone
  storm      requests before, while and after connections are killed
  soak       memory, sockets and connections over minutes of mixed requests
  readme     writes the newest saved result into README.md
  --rounds 5 --seconds 5 --connections 32 --pool 20 --apps 100 --rows 1000 --profile <folder>
  ADMIN_DATABASE_URL names the PostgreSQL to use; an embedded one is started when it is empty`;

const QUICK = { rounds: 3, seconds: 1.5, soakSeconds: 30 };
const USUAL = { rounds: 5, seconds: 5, soakSeconds: 300 };

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
      pool: { type: "string", default: "20" },
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
    soakSeconds: readNumber("seconds", values.seconds, lengths.soakSeconds),
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
