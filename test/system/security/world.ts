/**
 * The setup of the attempts: a service with two apps and a person, separate data and identity services, and every login.
 *
 * @module
 */
import { expect } from "bun:test";
import postgres from "postgres";
import { APP_SCOPES, type Scope } from "../../../src/principal.ts";
import { issueKey } from "../../../src/records/apps/mod.ts";
import { toKeyedPassword } from "../../../src/records/secrets/secrets.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { openService } from "../../../src/service/open.ts";
import {
  IDENTITY_SECRETS,
  TEST_HASHING,
  TEST_IDENTITY_SECRET,
  testDeps,
} from "../../support/deps.ts";
import { functionOf } from "../../support/functions.ts";
import { toNamed } from "../../support/passkeys.ts";
import { type Jar, makePerson, type Person, signInAs } from "../../support/people.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../../support/service.ts";
import { type Opened, serve, TEST_SECRETS } from "../../support/shape.ts";

export const LIST = "/v1/data/db/todos";
export const SCHEMA = defineSchema({ todos: { title: t.string().required() } });
export const SERVING = ["all", "gateway", "data", "identity"] as const;
export type Login = (typeof SERVING)[number] | "push" | "console" | "rows" | "admin";

/** Reads and changes of the history of rows, as no login may make them. */
export const HISTORY = [
  "select * from rowhouse.row_changes",
  "update rowhouse.row_changes set before = '{}'",
  "delete from rowhouse.row_changes",
  "select rowhouse.console_show_history(null, 'x', 'todos', null, null, false, null, 1, 1)",
  "delete from rowhouse.history_edits",
];

/** Tests that a sentence is true. @throws {Error} if it is false */
export type Attempt = (world: World) => Promise<void>;
/** The sentences of a page by heading and list, each with its attempt. */
export type Page = Readonly<
  Record<string, Readonly<Record<"Can" | "Cannot", Readonly<Record<string, Attempt>>>>>
>;

type Tried = { code: string; rows: Record<string, unknown>[] };

export type World = {
  service: TestService;
  mine: TestApp;
  other: TestApp;
  /** The id of the only row of the other app, with the title "theirs". */
  otherRow: string;
  /** A super_admin, signed in with `jar`. */
  victim: Person;
  jar: Jar;
  /** Separate services that accept requests signed by a gateway. */
  data: Opened;
  identity: Opened;
  /** Runs a statement as a login, and rolls it back. */
  tryAs: (login: Login, text: string) => Promise<Tried>;
  /** Expects this SQLSTATE for each statement. Another SQLSTATE would mean that the attack has no valid target. */
  rejects: (login: Login, texts: readonly string[], code?: string) => Promise<void>;
  allows: (login: Login, texts: readonly string[]) => Promise<void>;
  close: () => Promise<void>;
};

export async function openWorld(): Promise<World> {
  // Browsers store no passkeys for an IP address.
  const identity = (port: number) => ({ publicUrl: `http://localhost:${port}` });
  const service = toNamed(
    await openTestService({
      shape: "one",
      identity,
      service: { previews: ["browser", "history"] },
    }),
  );
  const [mine, other] = [await service.makeApp(SCHEMA), await service.makeApp(SCHEMA)];
  const created = await service.call(other, LIST, { method: "POST", json: { title: "theirs" } });
  const victim = await makePerson(service, { consoleRole: "super_admin" });
  const [data, people] = [await openPart(service, "data"), await openPart(service, "identity")];
  const { tryAs, close } = openLogins(service);
  const expectCodes = async (login: Login, texts: readonly string[], code: string) => {
    for (const text of texts)
      expect([login, text, (await tryAs(login, text)).code]).toEqual([login, text, code]);
  };
  return {
    service,
    mine,
    other,
    otherRow: (created.json as { id: string }).id,
    victim,
    jar: await signInAs(service, victim),
    data,
    identity: people,
    tryAs,
    rejects: (login, texts, code = "42501") => expectCodes(login, texts, code),
    allows: (login, texts) => expectCodes(login, texts, ""),
    close: async () => {
      await Promise.all([close(), data.close(), people.close()]);
      await service.close();
    },
  };
}

function openPart({ database }: TestService, role: "data" | "identity"): Promise<Opened> {
  return serve(
    openService({
      databaseUrl: database.roleUrls[role],
      adminDatabaseUrl: database.pushUrl,
      connections: 2,
      prepare: database.prepare,
      keyPrefix: "rh",
      role,
      secrets: { [role]: [TEST_SECRETS[role]] },
      identitySecrets: role === "identity" ? [TEST_IDENTITY_SECRET] : [],
      hashing: TEST_HASHING,
      log: () => undefined,
    }),
  );
}

function openLogins({ database }: TestService): Pick<World, "tryAs" | "close"> {
  const { servingUrl, roleUrls, pushUrl, consoleUrl, rowsUrl, adminUrl } = database;
  const urls = {
    all: servingUrl,
    ...roleUrls,
    push: pushUrl,
    console: consoleUrl,
    rows: rowsUrl,
    admin: adminUrl,
  };
  const opened = new Map<Login, postgres.Sql>();
  const connect = (login: Login) => {
    const sql =
      opened.get(login) ??
      postgres(urls[login], { max: 1, prepare: false, onnotice: () => undefined });
    opened.set(login, sql);
    return sql;
  };
  return {
    tryAs: async (login, text) => {
      const sql = connect(login);
      await sql.unsafe("begin");
      try {
        return { code: "", rows: [...(await sql.unsafe(text))] };
      } catch (error) {
        const code = error instanceof postgres.PostgresError ? error.code : String(error);
        return { code, rows: [] };
      } finally {
        await sql.unsafe("rollback");
      }
    },
    close: async () => void (await Promise.all([...opened.values()].map((sql) => sql.end()))),
  };
}

export const listCall = (app: TestApp, proof: string): string =>
  `select api."${functionOf(SCHEMA, "todos", "list")}"('${app.id}', ${proof}, 10, 0, 100000, null, null) as body`;

/** Statements on rows without a function. */
export const ROWS: readonly string[] = [
  "select * from data.todos",
  "select count(*) from data.todos",
  "insert into data.todos (app_id, id, title) values (gen_random_uuid(), gen_random_uuid(), 'x')",
  "update data.todos set title = 'x'",
  "delete from data.todos",
];
export const DEFINITIONS: readonly string[] = [
  "select definition from rowhouse.tables",
  "select sql from rowhouse.migrations",
];
export const KEYS: readonly string[] = [
  "select * from rowhouse.api_keys",
  "select * from rowhouse.proofs",
  "insert into rowhouse.proofs (app_id, digest, scopes) values (gen_random_uuid(), sha256('x'), 7)",
  "select rowhouse.issue_key('x', 'k', 'n', sha256('x'), array['data:read'], null, 'me')",
  "select rowhouse.roll_key('k', 'l', sha256('x'), 0, 'me')",
  "select rowhouse.revoke_key('k', 'me')",
  "update rowhouse.api_keys set revoked_at = null",
  "select rowhouse.put_proof(gen_random_uuid(), sha256('x'), 7::smallint, null)",
  "select rowhouse.set_app_switch('x', 'disabled', false, 'me')",
];
export const PEOPLE: readonly string[] = [
  "select email from rowhouse.users",
  "select * from rowhouse.sessions",
];

/** Returns the hash of a person's password, read by a login that can begin a sign-in. */
export async function hashOf(
  { tryAs }: World,
  login: Login,
  { email }: Person,
): Promise<{ hash: string; secretId: string }> {
  const { rows } = await tryAs(
    login,
    `select password_hash, password_secret_id from rowhouse.begin_sign_in('${email}', array['x'], 'x', null, '', 10, array[60], 600, 900)`,
  );
  const [row] = rows;
  return { hash: String(row?.["password_hash"]), secretId: String(row?.["password_secret_id"]) };
}

/** Returns a call that finishes a sign-in with a proof and, with `fresh`, replaces the password's hash. */
export const finishCall = (person: Person, proof: string, fresh = "null, null, null"): string =>
  `select rowhouse.finish_sign_in('${person.id}', decode('${proof}', 'hex'), ${fresh}, '', 'aaaaaaaaaaaaaaaa', sha256('s'),
    sha256('i'), 'secret', 600, array['x'], null, '', '', 'bbbbbbbbbbbbbbbb', sha256('p'), 'none') <> 'wrong' as is_done`;

export const digestOf = (text: string | Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex");

export const me = ({ service }: World, cookie: string): Promise<TestResponse> =>
  service.call(undefined, "/v1/auth/me", { headers: { cookie } });

/** Creates a key, by default with every scope that develops an app, and returns the key. */
export async function makeKey(
  { service }: World,
  app: TestApp,
  expiresAt?: Date,
  scopes: readonly Scope[] = APP_SCOPES,
): Promise<string> {
  const { text } = await issueKey(testDeps(service.service), {
    slug: app.slug,
    name: "test",
    scopes: [...scopes],
    expiresAt,
  });
  service.secrets.add(text);
  return text;
}

/** Returns whether an attacker can verify a guess by the stored hash, with and without the secret. */
export async function guesses(
  { tryAs, victim }: World,
  password: string,
): Promise<{ withSecret: boolean; without: boolean }> {
  const { rows } = await tryAs(
    "admin",
    `select password_hash from rowhouse.users where id = '${victim.id}'`,
  );
  const verify = (text: string) => TEST_HASHING.verify(text, String(rows[0]?.["password_hash"]));
  return {
    withSecret: await verify(toKeyedPassword(IDENTITY_SECRETS.current, victim.id, password)),
    without: await verify(password),
  };
}
