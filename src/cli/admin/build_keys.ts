/** `rowhouse admin build-keys`: the keys of numbers and decimals in large and shared tables, which lists need to search an index. @module */

import { count, flag, many, record, text } from "../../records/actions/mod.ts";
import { showCount } from "../../std/count.ts";
import { addKeys, deferRebuilds, findDueKeys, resumeDeferredSteps } from "../../tables/mod.ts";
import { checkIsolation } from "../database.ts";
import { confirm, YES } from "../terminal.ts";
import { command } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

/** Bytes of a table and its indexes that PostgreSQL writes again in a second, on a slow machine. */
const BYTES_A_SECOND = 10_000_000;

async function buildKeys(deps: AdminDeps, isConfirmed: boolean, isDryRun: boolean) {
  const tables = (await findDueKeys(deps.admin)).map(({ name, keyed, bytes }) => ({
    name,
    columns: keyed.map((column) => column.name),
    lockedS: Math.ceil(bytes / BYTES_A_SECOND),
  }));
  const describe = ({ name, columns, lockedS }: (typeof tables)[number]) =>
    `${name}: ${columns.join(", ")}, locked for up to about ${lockedS} s`;
  if (isDryRun || tables.length === 0)
    return { tables, lines: tables.length === 0 ? ["Nothing to do"] : tables.map(describe) };
  await confirm(deps, isConfirmed, {
    message: `These tables are locked while PostgreSQL writes their rows again; requests for them wait, and get an error after their time limit:\n${tables.map(describe).join("\n")}\n`,
  });
  await checkIsolation(deps.admin);
  for (const [index, { name }] of tables.entries()) {
    deps.report(`Adding keys to table ${name} (${index + 1} of ${tables.length})`);
    await deps.withPush((pushing) => addKeys(pushing, name, { isLogged: true }));
  }
  return { tables, lines: tables.map(({ name }) => `Added the keys of table ${name}`) };
}

/** Builds the indexes; another process can build some of them. A build that fails is continued by the next push or migrate. */
async function buildIndexes(deps: AdminDeps): Promise<string[]> {
  const waiting = await deferRebuilds(deps.admin);
  if (waiting.length === 0) return [];
  deps.report(`Building ${showCount(waiting.length, "index", "indexes")}`);
  await deps.withPush((pushing) =>
    resumeDeferredSteps({ admin: pushing, log: (_, event) => deps.report(event) }),
  );
  return await deferRebuilds(deps.admin);
}

export const adminBuildKeysCommands = makeAdminCommands({
  "build-keys": command("lets lists search indexes on numbers and decimals of large tables", {
    example: "rowhouse admin build-keys --dry-run\nrowhouse admin build-keys --yes",
    about: `With PREVIEW=filters, an index on a number or decimal needs a hidden column. A push adds it to a new or small table of one app.
For the others, run this command in a quiet hour: PostgreSQL writes the rows of each table again, and reads and writes of that table
wait meanwhile. Then it builds the indexes without a lock. Until it has run, these lists work as without an index.
Safe to stop and repeat: a table has all its keys, or none.`,
    flags: {
      ...YES,
      "dry-run": { about: "lists the tables, and how long each can be locked; changes nothing" },
    },
    json: {
      isDryRun: flag(),
      tables: many(record({ name: text(), columns: many(text()), lockedS: count() })),
      waiting: many(text()),
    },
    run: async (deps, { yes, "dry-run": isDryRun }) => {
      const { tables, lines } = await buildKeys(deps, yes, isDryRun);
      const waiting = isDryRun ? [] : await buildIndexes(deps);
      const left =
        waiting.length === 0 ? [] : [`Not built yet: ${waiting.join(", ")}. Repeat the command`];
      return { document: { isDryRun, tables, waiting }, lines: [...lines, ...left] };
    },
  }),
});
