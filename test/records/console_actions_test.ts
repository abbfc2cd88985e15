/** Actions on the Console's login: each needs both cookies of an administrator. */
import { beforeEach, describe, expect, test } from "bun:test";
import { openDatabase, readRows, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { IDENTITY_COOKIE, SESSION_COOKIE } from "../../src/identity/mod.ts";
import { SCOPES } from "../../src/principal.ts";
import { runAction } from "../../src/records/actions/mod.ts";
import { issueKey, rollKey } from "../../src/records/apps/mod.ts";
import {
  type GrantOptions,
  grantRole,
  removeConsoleRole,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { toPresented } from "../../src/records/secrets/mod.ts";
import { systemRandomBytes } from "../../src/std/random_text.ts";
import { makeProject, runHere } from "../support/command.ts";
import { IDENTITY_SECRETS } from "../support/deps.ts";
import { listAudit, listKeys } from "../support/lists.ts";
import { type Jar, makePerson, OLD_SIGN_IN, type Person, signInAs } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let admin: Person;
let person: Person;
let jar: Jar;
const service = await share(openTestService());
const consoleDb = await share(
  openDatabase({
    url: service.database.consoleUrl,
    connections: 1,
    prepare: true,
    name: "rowhouse test console",
  }),
);
const app = await service.makeApp();
beforeEach(async () => {
  admin = await makePerson(service, { consoleRole: "admin" });
  person = await makePerson(service);
  jar = await signInAs(service, admin);
});

const OPTIONS = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
const write = (text: string, parameters: string[] = []) =>
  service.service.admin.query<{ role: string }>(text, parameters, OPTIONS);
const cookiesOf = (of: Jar) => ({
  session: toPresented(IDENTITY_SECRETS, "session", [of.get(SESSION_COOKIE) ?? ""]),
  identity: toPresented(IDENTITY_SECRETS, "identity", [of.get(IDENTITY_COOKIE) ?? ""]),
});
const actorOf = (cookies: ReturnType<typeof cookiesOf>) => ({
  consoleDb,
  sessionIdleS: 600,
  cookies: { ...cookies, from: "192.0.2.7" },
  isForm: true,
  log: () => {},
});
const grant = (cookies: ReturnType<typeof cookiesOf>, change: Partial<GrantOptions> = {}) =>
  grantRole(actorOf(cookies), { email: person.email, slug: app.slug, role: "editor", ...change });
const rolesOf = (of: Person) =>
  write("select role from rowhouse.grants where user_id = $1::text::uuid", [of.id]);

test("a grant by an administrator with a recent sign-in is audited with the administrator's id", async () => {
  await grant(cookiesOf(jar));
  expect(await rolesOf(person)).toEqual([{ role: "editor" }]);
  await grant(cookiesOf(jar), { role: "reader" });
  expect(await rolesOf(person)).toEqual([{ role: "reader" }]);
  const [entry] = await listAudit(service.service, 1);
  expect(entry).toMatchObject({
    actor: admin.id,
    action: "grant",
    userId: person.id,
    app: app.slug,
    details: { role: "reader" },
    client: "192.0.2.7",
  });
  await write("insert into rowhouse.audit (actor, action) values ('test', 'sign_in')");
  expect((await listAudit(service.service, 1))[0]).toMatchObject({ actor: "test", client: null });
});

test("an action returns the same values to an operator and to an administrator", async () => {
  const administrator = actorOf(cookiesOf(jar));
  const operator = { admin: service.service.admin };
  const mails = { mails: [person.email, admin.email] };
  const addresses = await runAction(operator, "find_addresses", mails);
  expect(addresses.map(({ digest }) => digest)).toEqual(
    Array.from({ length: 2 }, () => expect.stringMatching(/^[0-9a-f]{64}$/)),
  );
  expect(await runAction(administrator, "find_addresses", mails)).toEqual(addresses);
  expect(await runAction(administrator, "find_app_id", { app_slug: "no-such-app" })).toBeNull();
  const roll = async (actor: typeof operator | typeof administrator, expiresAt?: Date) => {
    const deps = { ...actor, keyPrefix: "rh", randomBytes: systemRandomBytes };
    const options = { slug: app.slug, name: 'a "name", {x} \\ é', scopes: SCOPES, expiresAt };
    const { keyId } = await issueKey(deps, options);
    const rolled = await rollKey(deps, keyId, "1h", { slug: app.slug });
    const keys = await listKeys(operator, app.slug);
    const of = keys.find((key) => key.keyId === rolled.keyId);
    return [
      typeof rolled.expiresAt?.getTime(),
      rolled.oldExpiresAt instanceof Date,
      of?.name,
      of?.scopes,
    ];
  };
  const inADay = new Date(Date.now() + 86_400_000);
  expect(await roll(administrator, inADay)).toEqual(await roll(operator, inADay));
  expect(await roll(administrator)).toEqual(await roll(operator));
});

test.each([
  { name: "to an unknown address", change: { email: "nobody@example.org" } },
  { name: "on an unknown app", change: { slug: "no-such-app" }, code: "unknown_app" },
  { name: "of super_admin on an app", change: { role: "super_admin" } },
])(
  "a grant $name is rejected with the same code as in the command",
  async ({ change, code = "invalid_request" }) => {
    await expect(grant(cookiesOf(jar), change)).rejects.toMatchObject({ code });
  },
);

describe("a grant is rejected and changes nothing:", () => {
  type Cookies = ReturnType<typeof cookiesOf>;
  const both = (session: string, identity: string): Cookies => ({ session, identity });
  const digestsOf = async (): Promise<Cookies> => {
    const [row] = await readRows<Cookies>(
      service.service.db,
      `select id || '.' || encode(session_digest, 'hex') as session, id || '.' || encode(identity_digest, 'hex') as identity
      from rowhouse.sessions where user_id = $1::text::uuid`,
      [admin.id],
    );
    return both(row?.session ?? "", row?.identity ?? "");
  };
  const change = async (set: string): Promise<Cookies> => {
    await write(`update rowhouse.sessions set ${set} where user_id = $1::text::uuid`, [admin.id]);
    return cookiesOf(jar);
  };
  test.each(
    Object.entries({
      other_session: async () => both("", ""),
      "only the shared cookie": async () => both(cookiesOf(jar).session, ""),
      "only the pages' cookie": async () => both("", cookiesOf(jar).identity),
      "the session cookie sent as both cookies": async () =>
        both(cookiesOf(jar).session, cookiesOf(jar).session),
      "the pages' cookie of another session": async () =>
        both(cookiesOf(jar).session, cookiesOf(await signInAs(service, admin)).identity),
      "two live sessions": async () => {
        const [one, two] = [cookiesOf(jar), cookiesOf(await signInAs(service, admin))];
        return both(`${one.session},${two.session}`, `${one.identity},${two.identity}`);
      },
      "the digests that the database stores": digestsOf,
      "a person without a Console role": async () => cookiesOf(await signInAs(service, person)),
      "a role that was removed": async () => {
        await removeConsoleRole(service.service, admin.email);
        return cookiesOf(jar);
      },
      "a disabled person": async () => {
        await setDisabled(service.service, admin.email, true);
        return cookiesOf(jar);
      },
      "an old sign-in": () => change(`proven_at = ${OLD_SIGN_IN}`),
      "a session that was idle for 11 minutes": () =>
        change("last_seen_at = now() - interval '11 minutes'"),
      "an expired session": () => change("expires_at = now()"),
      "another user's session that was reassigned to an administrator": async () => {
        const own = cookiesOf(await signInAs(service, person));
        await write(
          "update rowhouse.sessions set user_id = $1::text::uuid where user_id = $2::text::uuid",
          [admin.id, person.id],
        );
        return own;
      },
    }),
  )("%s", async (_, make) => {
    await expect(grant(await make())).rejects.toMatchObject({ code: "forbidden" });
    expect(await rolesOf(person)).toEqual([]);
  });
});

test("the login of the Console is rejected as the serving login", async () => {
  using project = makeProject();
  const { adminUrl, servingUrl } = service.database;
  const ran = await runHere(["migrate"], {
    ...project,
    env: {
      ADMIN_DATABASE_URL: adminUrl,
      DATABASE_URL: servingUrl,
      CONSOLE_DATABASE_URL: servingUrl,
    },
  });
  expect([ran.code, ran.out]).toEqual([1, ""]);
  expect(ran.err).toContain("CONSOLE_DATABASE_URL");
});
