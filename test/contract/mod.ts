/**
 * Tests the API contract with independent tools: `bun run test:contract`. `--long` runs ten times as many cases. Other
 * arguments go to `bun test`.
 *
 * @module
 */
import { ROOT } from "../support/command.ts";
import { CASES_SETTING, LONG_CASES } from "./cases.ts";

const SUITES = ["./test/contract/clients_contract.ts", "./test/contract/schemathesis_contract.ts"];
/** The limit for one kind, also with `--long`. */
const LIMIT_MS = 14_400_000;

const argv = Bun.argv.slice(2);
const passedOn = argv.filter((argument) => argument !== "--long");
const child = Bun.spawn(
  [process.execPath, "test", "--timeout", String(LIMIT_MS), ...SUITES, ...passedOn],
  {
    cwd: ROOT,
    env: {
      ...process.env,
      ...(argv.includes("--long") ? { [CASES_SETTING]: String(LONG_CASES) } : {}),
    },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child.kill(signal));
process.exit(await child.exited);
