/** The exchange of a session for a person's key: its limits, the audit log, and roles that a provider's claims gave. */
import { describe, expect, test } from "bun:test";
import { makeClaimedRecords } from "../../src/records/people/roles.ts";
import { LIVE_PERSON_KEYS, PERSON_KEYS_A_MINUTE } from "../../src/std/limits.ts";
import { IDENTITY_SECRETS } from "../support/deps.ts";
import { listAudit } from "../support/lists.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { exchange, getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const PROVIDER = {
  name: "away",
  issuer: "http://localhost:1",
  clientId: "exchange",
  clientSecret: "secret of the exchange",
  label: "Away",
  trustedDomains: ["example.org"],
  creates: true,
  scopes: [],
  roles: [],
};

const service = await share(
  openTestService({
    connections: 30,
    identity: () => ({ cookieDomain: "example.org", providers: [PROVIDER] }),
    service: { previews: ["browser"] },
  }),
);
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
await openToBrowsers(service, app);
const jar = await signInAs(service, await makePerson(service, { app, role: "editor" }));
await service.service.warm();

const ask = (cookies = jar) => exchange(service, { cookies, app, origin: ORIGIN });

describe("limits", () => {
  test(`the key after ${LIVE_PERSON_KEYS} of a session and app ends the oldest`, async () => {
    const person = await makePerson(service, { app, role: "editor" });
    const cookies = await signInAs(service, person);
    const ids: string[] = [];
    for (let count = 0; count <= LIVE_PERSON_KEYS; count++) {
      const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
      ids.push(key.slice(3, 19));
    }
    const live = await service.query<{ id: string }>(
      "select key_id as id from rowhouse.person_keys where person_id = $1",
      [person.id],
    );
    expect(live.map(({ id }) => id).toSorted()).toEqual(ids.slice(1).toSorted());
    const [proofs] = await service.query<{ count: number }>(
      `select count(*)::int4 as count from rowhouse.enter_app($1::uuid),
        lateral (select from rowhouse.proofs where person_id = $2::uuid) as found`,
      [app.id, person.id],
    );
    expect(proofs?.count).toBe(LIVE_PERSON_KEYS);
  });

  test(`a person gets max ${PERSON_KEYS_A_MINUTE} keys of an app in a minute, also at once`, async () => {
    const person = await makePerson(service, { app, role: "editor" });
    const cookies = await signInAs(service, person);
    const asked = Array.from({ length: PERSON_KEYS_A_MINUTE + 5 }, () =>
      exchange(service, { cookies, app, origin: ORIGIN }),
    );
    const responses = await Promise.all(asked);
    const accepted = responses.filter(({ status }) => status === 200);
    const limited = responses.filter(({ status }) => status === 429);
    expect([accepted.length, limited.length]).toEqual([PERSON_KEYS_A_MINUTE, 5]);
    const live = await service.query("select from rowhouse.person_keys where person_id = $1", [
      person.id,
    ]);
    expect(live).toHaveLength(LIVE_PERSON_KEYS);
    for (const { json, headers } of limited) {
      expect(json).toEqual({ error: "rate_limited" });
      expect(Number(headers.get("retry-after"))).toBeWithin(1, 61);
    }
    expect((await ask()).status).toBe(200);
  });
});

test("the audit log has one entry for a session, an app and a day", async () => {
  const person = await makePerson(service, { app, role: "editor" });
  const entries = async () =>
    (await listAudit(service.service, 200)).filter(
      ({ action, actor }) => action === "open_app" && actor === person.id,
    );
  const cookies = await signInAs(service, person);
  const asked = { cookies, app, origin: ORIGIN };
  const { key } = await getPersonKey(service, asked);
  await getPersonKey(service, asked);
  const found = await entries();
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({
    app: app.slug,
    details: { keyId: key.slice(3, 19), role: "editor", origin: ORIGIN },
  });
  await getPersonKey(service, { ...asked, cookies: await signInAs(service, person) });
  expect(await entries()).toHaveLength(2);
  await service.query(
    "update rowhouse.session_apps set opened_on = opened_on - 1 returning 1 as one",
  );
  await getPersonKey(service, asked);
  expect(await entries()).toHaveLength(3);
});

describe("a role that a provider's claims gave", () => {
  type Claim = { provider?: string; role?: string; of?: "another person"; digest?: string };

  /** The exchange of a person with a claimed role, as this service or someone else wrote it. */
  async function askWith({ provider = PROVIDER.name, role = "editor", of, digest }: Claim) {
    const person = await makePerson(service);
    const { id: userId } = of === undefined ? person : await makePerson(service);
    const made = await makeClaimedRecords(
      { db: service.service.db, identitySecrets: IDENTITY_SECRETS },
      { userId, provider, claimed: [{ slug: app.slug, role: "editor" }] },
    );
    await service.query(
      `insert into rowhouse.grants (user_id, app_id, role, provider, digest, secret_id)
      values ($1::uuid, $2::uuid, $3, $4, decode($5, 'hex'), $6) returning 1 as one`,
      [
        ...[person.id, app.id, role, provider],
        digest ?? made.records[0]?.[2] ?? "",
        IDENTITY_SECRETS.current.id,
      ],
    );
    return await ask(await signInAs(service, person));
  }

  test("counts if this service wrote it", async () => {
    const { status, json } = await askWith({});
    expect(status).toBe(200);
    expect(json).toEqual(expect.objectContaining({ expiresInS: expect.any(Number) }));
    expect(json).toMatchObject({ user: { role: "editor" } });
  });

  test.each<{ name: string; claim: Claim }>([
    { name: "with an invented proof", claim: { digest: "07".repeat(32) } },
    { name: "with another role", claim: { role: "admin" } },
    { name: "with the proof of another person", claim: { of: "another person" } },
    { name: "of a provider that is not set up", claim: { provider: "gone" } },
  ])("does not count $name", async ({ claim }) => {
    const { status, json } = await askWith(claim);
    expect([status, json]).toEqual([403, { error: "forbidden" }]);
  });
});
