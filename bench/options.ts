/** Parses the bench's command line. Rejects unknown arguments, so that a typo does not start a wrong measurement. @module */
import { parseArgs } from "node:util";

export const PARTS = [
  "requests",
  "growth",
  "queries",
  "people",
  "identity",
  "gateway",
  "fairness",
  "soak",
  "tables",
  "weights",
  "history",
  "live",
  "live-soak",
  "commands",
  "unindexed",
] as const;
export type Part = (typeof PARTS)[number];
const COMMANDS = [...PARTS, "figures"] as const;
type Command = (typeof COMMANDS)[number];

export const USAGE = `bun run bench [<command>] [--quick] [--only get,list-100] [--json] [--save]
  requests   get, list, create and update, compared with pgbench, a bare and a plain server, PostgREST's statements and PocketBase (the
             default); with --against <folder or commit> next to another checkout of this repository, and nothing else
  growth     get and list over more apps and more rows; --full goes to 10,000,000 rows
  queries    pages by each kind of index, lookups, counts, groups and related rows over 1,000 to 1,000,000 rows of an app, and
             PostgREST's statements; --only 1000,100000 for these sizes
  people     gets, lists, a query and writes by an API key and by people under three kinds of rules, over 100,000 and 1,000,000
             rows; --only 100000 for this size, in about four minutes. Each request is printed when it is measured
  identity   /v1/auth/me compared with a get, and while 32 people sign in
  gateway    a get by one process, and by gateway and data service
  soak       memory, sockets and connections over minutes of mixed requests; then, while connections are killed
  tables     apps with tables of their own beside shared tables: functions, catalog, memory of backends, first and later calls, pushes,
             start and commands; --full for 2,500 apps with 4 tables each
  weights    requests and bytes, compressed and not, that a browser loads for a page
  history    the history of rows: what a write costs
  live       event streams: what a write costs, an idle check, and 1,000 and 8,000 readers
  live-soak  memory over minutes of event streams whose readers come and go, at a low rate
  commands   seconds of twelve common commands, started directly, by bunx, bun run and npx
  unindexed  others' requests while one app sends conditions that no index serves, to one process and to four workers; as large as
             --rows 1000000 --minutes 2
  figures    writes the newest saved result into bench/README.md and README.md
  --rounds 5 --seconds 5 (people: 3 and 2) --minutes 5 --connections 32 --pool 20 --apps 100 --rows 1000 --profile <folder>
  ADMIN_DATABASE_URL names the PostgreSQL to use; if it is empty, an embedded PostgreSQL is started`;

/** `minutes` is the duration of soak's steady part, `pool` the number of connections of a serving process. */
const DEFAULTS = {
  rounds: 5,
  seconds: 5,
  minutes: 5,
  connections: 32,
  pool: 20,
  apps: 100,
  rows: 1000,
};
/** Where each round has many sides, fewer and shorter rounds. */
const DEFAULTS_OF: Partial<Record<Command, Partial<typeof DEFAULTS>>> = {
  people: { rounds: 3, seconds: 2 },
  tables: { apps: 25 },
  unindexed: { rows: 200_000, rounds: 2, seconds: 20, minutes: 0.5 },
};
const QUICK: typeof DEFAULTS = { ...DEFAULTS, rounds: 3, seconds: 1.5, minutes: 0.5 };
const NUMBERS = ["rounds", "seconds", "minutes", "connections", "pool", "apps", "rows"] as const;

export type BenchOptions = typeof DEFAULTS & {
  command: Command;
  help: boolean;
  /** Print the result as JSON instead of tables. */
  json: boolean;
  /** Write the result to bench/results/. */
  save: boolean;
  /** Includes the largest size of `growth`, which needs minutes to fill. */
  full: boolean;
  /** Scenarios to run. Empty: all. */
  only: readonly string[];
  /** The folder for CPU profiles of the serving processes. */
  profile: string | undefined;
  against: string | undefined;
};

const FLAG = { type: "boolean", default: false } as const;
const TEXT = { type: "string" } as const;
const OPTIONS = {
  help: FLAG,
  json: FLAG,
  save: FLAG,
  full: FLAG,
  quick: FLAG,
  only: TEXT,
  profile: TEXT,
  against: TEXT,
  rounds: TEXT,
  seconds: TEXT,
  minutes: TEXT,
  connections: TEXT,
  pool: TEXT,
  apps: TEXT,
  rows: TEXT,
};

/** @throws {Error} an unknown command, flag or number */
export function readOptions(args: readonly string[]): BenchOptions {
  const parsed = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  const { quick, only, profile, against, help, json, save, full, ...texts } = parsed.values;
  const command = readCommand(parsed.positionals);
  const numbers = { ...(quick ? QUICK : { ...DEFAULTS, ...DEFAULTS_OF[command] }) };
  for (const name of NUMBERS) numbers[name] = readNumber(name, texts[name]) ?? numbers[name];
  if (against !== undefined && (command !== "requests" || save))
    throw new Error("Cannot use --against here: it is for requests, and its result is not saved");
  const flags = { help, json, save, full, profile, against };
  return { ...numbers, ...flags, command, only: only?.split(",") ?? [] };
}

function readCommand([name = "requests", ...rest]: readonly string[]): Command {
  const command = COMMANDS.find((known) => known === name);
  if (command !== undefined && rest.length === 0) return command;
  const wanted = COMMANDS.join(", ");
  throw new Error(`Cannot run "${[name, ...rest].join(" ")}": must be one of ${wanted}`);
}

function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`Cannot read --${name} "${text}": must be a number above 0`);
}
