/** The dialects of databases, by name. @module */
import { IS_DISTRIBUTED_SQL } from "./citus/anchor.ts";
import { CITUS } from "./citus/dialect.ts";
import { type Dialect, PLAIN } from "./dialect.ts";
import { type Database, readValue } from "./pool/mod.ts";

export const DIALECTS = { plain: PLAIN, citus: CITUS } as const satisfies Record<string, Dialect>;
export type DialectName = keyof typeof DIALECTS;
export const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

/** The name of the database's dialect, as `rowhouse.dialect()`. In brackets: PL/pgSQL reads a condition up to the first `then`. */
export const DIALECT_SQL = `(case when ${IS_DISTRIBUTED_SQL} then 'citus' else 'plain' end)`;

export function dialectOf({ dialect }: { readonly dialect: DialectName }): Dialect {
  return DIALECTS[dialect];
}

export async function readDialect(db: Database): Promise<Dialect> {
  return DIALECTS[await readValue<DialectName>(db, `select ${DIALECT_SQL}`)];
}
