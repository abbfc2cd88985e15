/** A pooler between the service and PostgreSQL: whether what is sent through it is answered rightly. @module */
import { findPooling, type Pooling } from "../db/mod.ts";
import type { DatabaseVariable } from "./away.ts";
import type { Finding } from "./finding.ts";

type PoolerOptions = { url: string; variable: DatabaseVariable; prepare: boolean };

/** @throws {Problem} the database cannot be reached */
export async function examinePooler({ variable, ...options }: PoolerOptions): Promise<Finding> {
  return judgePooling(await findPooling({ ...options, name: "rowhouse doctor" }), variable);
}

type Judgement = Omit<Finding, "about">;

const JUDGEMENTS: Readonly<Record<Pooling, Judgement>> = {
  none: { level: "ok", says: "none: connected straight to PostgreSQL" },
  pooled: { level: "ok", says: "there is one, and DATABASE_PREPARE=off works with it" },
  sessions: { level: "ok", says: "there is one, and it keeps a session for each connection" },
  followed: { level: "ok", says: "there is one, and it follows prepared statements" },
  mixed: {
    level: "fail",
    says: "there is one that mixes up prepared statements, as PgBouncer does before 1.21 or without max_prepared_statements: under load calls fail, or get the answers of others",
    remedy: "set DATABASE_PREPARE=off",
  },
};

/** What pushes and migrates runs long and holds locks: a pooler is one thing more that can cut it off. */
const OF_ADMIN: Partial<Record<Pooling, Judgement>> = Object.fromEntries(
  (["pooled", "sessions", "followed"] as const).map((pooling) => [
    pooling,
    {
      level: "warn",
      says: "there is one, and pushes and migrations should not go through it",
      remedy: "let ADMIN_DATABASE_URL lead straight to PostgreSQL",
    },
  ]),
);

export function judgePooling(pooling: Pooling, variable: DatabaseVariable): Finding {
  if (variable === "DATABASE_URL") return { about: "pooler", ...JUDGEMENTS[pooling] };
  return { about: "admin pooler", ...(OF_ADMIN[pooling] ?? JUDGEMENTS[pooling]) };
}
