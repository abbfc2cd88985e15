/**
 * The contract, tried from the outside by tools that no one here wrote: `bun run test:contract`, with `--long` ten times as
 * many cases. Other arguments are passed on to `bun test`.
 *
 * @module
 */
import { ROOT } from "../support/command.ts";
import { CASES_SETTING, LONG_CASES } from "./cases.ts";

const SUITES = ["./test/contract/clients_contract.ts", "./test/contract/schemathesis_contract.ts"];
/** Of one kind, with `--long` too. */
const LIMIT_MS = 14_400_000;

const given = Bun.argv.slice(2);
const passedOn = given.filter((word) => word !== "--long");
const child = Bun.spawn(
  [process.execPath, "test", "--timeout", String(LIMIT_MS), ...SUITES, ...passedOn],
  {
    cwd: ROOT,
    env: {
      ...process.env,
      ...(given.includes("--long") ? { [CASES_SETTING]: String(LONG_CASES) } : {}),
    },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child.kill(signal));
process.exit(await child.exited);
