/** A service with the preview of rules, apps with teams and todos under rules, and a check of their functions. @module */
import { expect } from "bun:test";
import type { Preview } from "../../src/preview.ts";
import type { Definition } from "../../src/schema/mod.ts";
import {
  functionName,
  functionsOfSet,
  hashColumnSet,
  type ViewSet,
  viewSetsOf,
} from "../../src/tables/catalog/mod.ts";
import { makeCheckBodies, readDrift } from "../../src/tables/mod.ts";
import { freshName, postDefinition, readDeclared } from "./push.ts";
import { declareRules } from "./rules.ts";
import type { TestApp, TestService } from "./service.ts";

export const RULE_PREVIEWS: readonly Preview[] = ["filters", "browser"];
const SITE = { dialect: "plain" } as const;

export type Names = { teams: string; members: string; todos: string };

export const freshNames = (): Names => ({
  teams: freshName("teams"),
  members: freshName("members"),
  todos: freshName("todos"),
});

export const OWN = { owner: "me" };
const READ_TEAMS = { allow: { member: { read: true } } };
/** The rules of todos: three groups of rights on the tables. */
export const RULES = {
  allow: {
    lead: { read: true, create: true, update: true },
    member: { read: [OWN], create: { status: "open" }, update: OWN, delete: OWN },
  },
  owner: ["owner"],
  only: { cost: ["lead"] },
};

/** `null`: without rules. */
type Declared = {
  rules?: object | null;
  teamRules?: object | null;
  columns?: object;
  indexes?: string[][];
};

/** An app with teams, memberships and todos. */
export function declareTodos(
  { teams, members, todos }: Names,
  { rules = RULES, teamRules = READ_TEAMS, columns = {}, indexes = [] }: Declared = {},
): Definition {
  const tables = declareRules({
    [teams]: { columns: { name: "string" }, ...(teamRules && { rules: teamRules }) },
    [members]: { columns: { person: "uuid", team: { kind: "ref", table: teams } } },
    [todos]: {
      columns: {
        owner: "uuid",
        status: { kind: "enum", values: ["open", "done"] },
        team: { kind: "ref", table: teams },
        cost: "number",
        ...columns,
      },
      indexes,
      ...(rules && { rules }),
    },
  });
  return { version: 1, tables };
}

/** Pushes over HTTP, and returns the steps. */
export async function pushRules(
  service: TestService,
  app: TestApp,
  definition: Definition,
): Promise<{ steps: string[]; notes: string[] }> {
  const { status, json, text } = await postDefinition(service, app, definition);
  if (status !== 200) throw new Error(`${text}\n${service.log.slice(-2).join("\n")}`);
  return json as { steps: string[]; notes: string[] };
}

async function readTexts(service: TestService, text: string, values: string[]): Promise<string[]> {
  const rows = await service.query<{ text: string }>(text, values);
  return rows.map((row) => row.text);
}

/** The functions of the tables, and the transaction that wrote each. */
export async function readFunctions(
  service: TestService,
  names: Names,
): Promise<Map<string, string>> {
  const tables = Object.values(names).map((name) => name.slice(0, 32));
  const found = await readTexts(
    service,
    `select proname || ' ' || xmin as text from pg_proc where pronamespace = 'api'::regnamespace
      and substring(proname from '^(.*)__[0-9a-f]{16}_') = any (string_to_array($1, ' ')) order by 1`,
    [tables.join(" ")],
  );
  return new Map(found.map((line) => line.split(" ") as [string, string]));
}

/** The recorded views of an app, as the table and the hash. */
export async function readViews(service: TestService, { id }: TestApp): Promise<string[]> {
  return await readTexts(
    service,
    "select table_name || ' ' || hash as text from rowhouse.views where app_id = $1 order by 1",
    [id],
  );
}

/** The views that the app's declarations have. */
export async function listViewSets(service: TestService, app: TestApp): Promise<ViewSet[]> {
  const tables = await readDeclared(service.service.admin, app);
  return tables.flatMap(({ name }) => viewSetsOf(app.id, tables, name));
}

/** Every function that people need for the app's tables. */
export async function listWanted(service: TestService, app: TestApp): Promise<string[]> {
  const sets = await listViewSets(service, app);
  return sets
    .flatMap((set) => functionsOfSet(set, SITE).map((name) => functionName(set, name)))
    .sort();
}

/** The functions of the tables that belong to no column set, and to no view of another app. */
async function readFound(service: TestService, app: TestApp, names: Names): Promise<string[]> {
  const others = await readTexts(
    service,
    `select left(table_name, 32) || '__' || hash || '_' as text from (
      select table_name, hash from rowhouse.column_sets
      union all select table_name, hash from rowhouse.views where app_id <> $1) as others`,
    [app.id],
  );
  const isOther = (name: string) => others.some((start) => name.startsWith(start));
  const all = [...(await readFunctions(service, names)).keys()];
  return all.filter((name) => !isOther(name)).sort();
}

/** Checks that the database has exactly the functions and records that the app's rules need, and that nothing differs from the record. */
export async function expectExact(service: TestService, app: TestApp, names: Names): Promise<void> {
  const { admin } = service.service;
  expect(await readFound(service, app, names)).toEqual(await listWanted(service, app));
  const sets = await listViewSets(service, app);
  expect(await readViews(service, app)).toEqual(
    sets.map((set) => `${set.name} ${hashColumnSet(set)}`).sort(),
  );
  expect(await readDrift(admin)).toEqual([]);
  expect(await makeCheckBodies(admin)("")).toEqual([]);
}
