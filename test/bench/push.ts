/** `bench push`: a large schema planned, pushed, pushed again, and its types checked by tsc. @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp } from "../../src/accounts/mod.ts";
import { push } from "../../src/push/mod.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { definitionOf } from "../support/service.ts";
import type { BenchOptions } from "./options.ts";

export type PushResult = {
  tables: number;
  columns: number;
  planMs: number;
  pushMs: number;
  againMs: number;
  changedMs: number;
  tscMs: number;
};

type Status = Awaited<ReturnType<typeof push>>["status"];

const TABLES = 150;
const COLUMNS = 25;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export async function benchPush(_options: BenchOptions): Promise<PushResult> {
  const folder = mkdtempSync(join(ROOT, "test/bench/.push-"));
  const database = await makeDatabase();
  try {
    const definition = await loadDefinition(folder, "mod.ts");
    const times = await withDatabase(database.adminUrl, async (admin) => {
      const app = await createApp(
        { admin, makeId: () => Bun.randomUUIDv7() },
        { slug: "bench-push", origins: [], redirects: [], cookieDomain: undefined },
      );
      const run = (wanted: typeof definition, status: Status) =>
        time(async () => {
          const options = { dryRun: status === "planned" };
          const result = await push(
            { admin, log: () => undefined },
            { app, definition: wanted, options },
          );
          if (result.status !== status)
            throw new Error(`A push is ${result.status}, not ${status}`);
        });
      const changed = await loadDefinition(folder, "changed.ts", { extra: "t.number()" });
      return {
        planMs: await run(definition, "planned"),
        pushMs: await run(definition, "applied"),
        againMs: await run(definition, "unchanged"),
        changedMs: await run(changed, "applied"),
      };
    });
    return { tables: TABLES, columns: COLUMNS, ...times, tscMs: await time(() => runTsc(folder)) };
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

async function loadDefinition(folder: string, file: string, extra: Columns = {}) {
  writeFileSync(join(folder, file), renderSchema(extra));
  const { default: schema } = (await import(join(folder, file))) as { default: unknown };
  return definitionOf(schema);
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const KINDS = [
  "t.string().required()",
  "t.number()",
  "t.decimal()",
  "t.boolean().required().default(false)",
  "t.timestamp()",
  "t.json<{ note: string }>()",
  't.enum(["open", "doing", "done"])',
  "t.uuid()",
];

type Columns = Readonly<Record<string, string>>;

/** The text of the schema; its last table has these columns besides. */
function renderSchema(extra: Columns): string {
  const table = (_: unknown, at: number) => {
    const columns = Array.from({ length: COLUMNS }, (_, column) => {
      const kind =
        column === 1 && at > 0 ? `t.ref("table_${at - 1}")` : KINDS[column % KINDS.length];
      return `    column_${column}: ${kind},`;
    });
    if (at === TABLES - 1)
      columns.push(...Object.entries(extra).map(([name, kind]) => `    ${name}: ${kind},`));
    return `  table_${at}: t.model({\n${columns.join("\n")}\n  }).index("column_0"),`;
  };
  const tables = Array.from({ length: TABLES }, table).join("\n");
  return `import { defineSchema, t } from "../../../src/dsl/mod.ts";\nexport default defineSchema({\n${tables}\n});\n`;
}

/** What the generated types say, used for a row of the last table. */
async function runTsc(folder: string): Promise<void> {
  writeFileSync(join(folder, "types.ts"), renderTypes());
  const config = { extends: join(ROOT, "tsconfig.json"), include: ["./*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const child = Bun.spawn([process.execPath, tsc, "-p", folder], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0)
    throw new Error(`tsc refuses the types: ${output.slice(0, 1000)}`);
}

function renderTypes(): string {
  const tables = Array.from({ length: TABLES }, (_, at) => {
    const name = `table_${at}`;
    return `  ${name}: { row: Row<S, "${name}">; insert: Insert<S, "${name}">; update: Update<S, "${name}"> };`;
  });
  return `import type { Insert, Row, Update } from "../../../src/dsl/mod.ts";
import type schema from "./mod.ts";
type S = typeof schema;
export interface Tables {
${tables.join("\n")}
}
export function title(row: Tables["table_${TABLES - 1}"]["row"]): string {
  return row.column_0;
}
`;
}
