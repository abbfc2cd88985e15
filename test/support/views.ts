/**
 * The functions of views in a database, and people who call them: for tests of functions without HTTP. The functions are those
 * that a push creates, also of endpoints that are closed.
 *
 * @module
 */
import postgres from "postgres";
import { readSqlState } from "../../src/db/mod.ts";
import type { Preview } from "../../src/preview.ts";
import { PERSON_BIT } from "../../src/principal.ts";
import type { TableDefinition } from "../../src/schema/mod.ts";
import {
  type Endpoint,
  type EndpointCall,
  functionName,
  PERSON_ENDPOINTS,
  placeholdersOf,
  type RecordedDefinition,
  serveSet,
  toParameters,
  viewOf,
  viewsOf,
} from "../../src/tables/catalog/mod.ts";
import { renderFunctions } from "../../src/tables/sql/functions.ts";
import { pushDefinition } from "./push_steps.ts";
import type { TestApp, TestService } from "./service.ts";

export type Person = {
  readonly id: string;
  readonly role: string;
  readonly proof: Uint8Array;
  /** Calls a function of the person's view. @throws {Error} with the SQLSTATE as its message */
  readonly call: (table: string, call: EndpointCall) => Promise<string | null>;
};

export type Views = {
  readonly makePerson: (role: string, options?: { readonly bits?: number }) => Promise<Person>;
  /** Calls the function of a role's view with a proof. */
  readonly callAs: (
    caller: Pick<Person, "role" | "proof">,
    table: string,
    call: EndpointCall,
  ) => Promise<string | null>;
  readonly sql: (text: string, parameters?: readonly Parameter[]) => Promise<Row[]>;
  readonly end: () => Promise<void>;
};

type Parameter = string | number | boolean | Uint8Array | null;
type Row = Record<string, unknown>;

type Options = {
  readonly app: TestApp;
  readonly tables: readonly TableDefinition[];
  readonly previews?: readonly Preview[];
  /** The endpoints that get functions; default: those without a preview of their own. */
  readonly endpoints?: readonly Endpoint[];
};

const ROWS: readonly Endpoint[] = [
  ...(["list", "get", "create", "create_many", "create_group", "update", "delete"] as const),
];

/** Pushes the tables without their rules, and creates the functions of all views. */
export async function openViews(
  service: TestService,
  { app, tables, previews = ["browser"], endpoints = ROWS }: Options,
): Promise<Views> {
  const site = { dialect: "plain", previews } as const;
  const login = postgres(service.database.adminUrl, { max: 4, prepare: false, onnotice: () => {} });
  const sql = async (text: string, parameters: readonly Parameter[] = []): Promise<Row[]> => [
    ...(await login.unsafe<Row[]>(text, [...parameters])),
  ];
  const plain = tables.map(({ rules: _, ...table }) => table);
  const definition = { version: 1, tables: plain } as const;
  await pushDefinition(
    { admin: service.pushing, log: () => {} },
    { app, definition, options: { dryRun: false } },
  );
  for (const table of tables)
    for (const view of viewsOf(app.id, tables, table)) {
      const set = serveSet({ ...table, view }, table as RecordedDefinition);
      const allowed = endpoints.filter((endpoint) => PERSON_ENDPOINTS[endpoint].isAllowed(view));
      for (const statement of renderFunctions(set, site, allowed)) await sql(statement);
    }
  return {
    sql,
    callAs,
    makePerson: (role, { bits = PERSON_BIT } = {}) => makePerson(role, bits),
    end: () => login.end(),
  };

  async function makePerson(role: string, bits: number): Promise<Person> {
    const id = crypto.randomUUID();
    const proof = crypto.getRandomValues(new Uint8Array(32));
    await sql(
      `insert into rowhouse.proofs (app_id, digest, scopes, expires_at, person_id, role)
        values ($1, sha256($2), $3, now() + interval '1 hour', $4, $5)`,
      [app.id, proof, bits, id, role],
    );
    return { id, role, proof, call: (table, call) => callAs({ role, proof }, table, call) };
  }

  async function callAs(
    { role, proof }: Pick<Person, "role" | "proof">,
    named: string,
    call: EndpointCall,
  ): Promise<string | null> {
    const table = tables.find((each) => each.name === named);
    const view = table === undefined ? undefined : viewOf(app.id, tables, table, role);
    if (table === undefined || view === undefined)
      throw new Error(`${role} has no view of ${named}`);
    const placeholders = Object.values(placeholdersOf(call.endpoint)).join(", ");
    const name = functionName({ ...table, view }, call.endpoint);
    try {
      const parameters = toParameters({ app: app.id, proof }, call);
      const [row] = await sql(`select api."${name}"(${placeholders}) as body`, parameters);
      return (row?.["body"] ?? null) as string | null;
    } catch (error) {
      throw new Error(readSqlState(error) ?? String(error), { cause: error });
    }
  }
}
