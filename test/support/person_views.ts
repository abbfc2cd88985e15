/** The functions of people, made from rules without a push, and called by the serving login. @module */
import postgres from "postgres";
import { PERSON_BIT } from "../../src/principal.ts";
import type { TableDefinition, TableRules } from "../../src/schema/mod.ts";
import {
  calledName,
  type Endpoint,
  type EndpointCall,
  type FunctionSite,
  functionsOfSet,
  type ServedSet,
  serveSet,
  toColumnSet,
  toParameters,
  viewsOf,
} from "../../src/tables/catalog/mod.ts";
import { renderFunctions } from "../../src/tables/sql/functions/functions.ts";
import { pushDefinition } from "./push_steps.ts";
import { definitionOf, type TestApp, type TestService } from "./service.ts";

export type TestCaller = {
  readonly id: string;
  readonly role: string;
  readonly proof: Uint8Array;
  /** The text that the function of the caller's role returns. */
  readonly call: (table: string, call: EndpointCall) => Promise<string | null>;
};

/** Tables with their rules; or a schema, and the rules of its tables. */
type Ruled =
  | { readonly tables: readonly TableDefinition[] }
  | { readonly schema: unknown; readonly rules: Readonly<Record<string, TableRules>> };

function tablesOf(ruled: Ruled): readonly TableDefinition[] {
  if ("tables" in ruled) return ruled.tables;
  return definitionOf(ruled.schema).tables.map((table): TableDefinition => {
    const rules = ruled.rules[table.name];
    return rules === undefined ? table : { ...table, rules };
  });
}

/** The endpoints without a preview of their own. */
export const ROW_ENDPOINTS: readonly Endpoint[] = [
  ...(["list", "get", "create", "create_many", "create_group"] as const),
  ...(["update", "update_many", "delete"] as const),
];

export type PersonViews = {
  /** The tables with their rules. */
  readonly tables: readonly TableDefinition[];
  /** The set of a role's functions; `undefined`: the role has none. */
  readonly find: (table: string, role: string) => ServedSet | undefined;
  /** @param id another caller's id: the same person with another key or role */
  readonly makeCaller: (
    role: string,
    options?: { id?: string; bits?: number },
  ) => Promise<TestCaller>;
  /** The text that the function of the caller's role returns; or of this set. */
  readonly call: (
    caller: Pick<TestCaller, "role" | "proof">,
    table: string,
    call: EndpointCall,
    of?: { set?: ServedSet; app?: string },
  ) => Promise<string | null>;
  readonly admin: postgres.Sql;
  readonly close: () => Promise<void>;
};

/** Pushes the tables without their rules, and creates the functions of every role. */
export async function openPersonViews(
  service: TestService,
  { app, ...ruled }: { app: TestApp } & Ruled,
  endpoints: readonly Endpoint[],
): Promise<PersonViews> {
  const tables = tablesOf(ruled);
  const plain = tables.map(({ rules: _, ...table }) => table);
  await pushDefinition(
    { admin: service.pushing, log: () => undefined },
    { app, definition: { version: 1, tables: plain }, options: { dryRun: false } },
  );
  const site: FunctionSite = { dialect: "plain" };
  const sets = tables.flatMap((table) =>
    viewsOf(app.id, tables, table).map((view) => serveSet({ ...toColumnSet(table), view }, table)),
  );
  const admin = postgres(service.database.adminUrl, { max: 1, onnotice: () => undefined });
  for (const set of sets) {
    const served = functionsOfSet(set, site).filter(
      (name) => name === "terms" || endpoints.includes(name),
    );
    for (const statement of renderFunctions(set, site, served)) await admin.unsafe(statement);
  }
  const login = postgres(service.database.servingUrl, { max: 4, prepare: false });
  const find = (table: string, role: string) =>
    sets.find(({ name, view }) => name === table && view?.roles.includes(role));
  const callAs: PersonViews["call"] = async ({ role, proof }, table, call, of = {}) => {
    const set = of.set ?? find(table, role);
    if (set === undefined) throw new Error(`The role ${role} has no functions of ${table}`);
    const parameters = toParameters(set, { app: of.app ?? app.id, proof }, call);
    const [found] = await login.unsafe(
      `select ${calledName(set, call.endpoint)}(${parameters.map((_, index) => `$${index + 1}`).join(", ")}) as body`,
      parameters.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)),
    );
    return (found?.["body"] ?? null) as string | null;
  };
  return {
    tables,
    find,
    makeCaller: async (role, { id = crypto.randomUUID(), bits = PERSON_BIT | 64 } = {}) => {
      const proof = crypto.getRandomValues(new Uint8Array(32));
      await admin`insert into rowhouse.proofs (app_id, digest, scopes, expires_at, person_id, role)
        values (${app.id}, sha256(${Buffer.from(proof)}), ${bits}, 'infinity', ${id}, ${role})`;
      return { id, role, proof, call: (table, call) => callAs({ role, proof }, table, call) };
    },
    call: callAs,
    admin,
    close: async () => {
      await login.end();
      await admin.end();
    },
  };
}
