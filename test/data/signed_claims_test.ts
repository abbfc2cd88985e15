/**
 * A data service trusts what a key's proof shows, never what the gateway claims beside it: key id, person and role. Someone with the
 * gateway's secret and the key of one person gets only what this key gets.
 */
import { expect, test } from "bun:test";
import { issueKey, revokeKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { testDeps } from "../support/deps.ts";
import { type EventReader, openEvents } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { type Member, openPersonWorld, PREVIEWS, path, rowOf } from "../support/person_app.ts";
import { keyIdOf } from "../support/person_keys.ts";
import type { TestApp } from "../support/service.ts";
import { serveAnother, TEST_SECRETS } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { contextOf, sendSigned, signHeaders } from "../support/signed.ts";

const world = await share(openPersonWorld());
await setAppSwitch(world.service.service, world.wiki.slug, ["live", true]);
const { database } = world.service;
const data = await share(
  serveAnother(
    { ...database, servingUrl: database.roleUrls.data },
    { role: "data", secrets: { data: [TEST_SECRETS.data] }, previews: [...PREVIEWS] },
  ),
);

type Claims = { keyId: string; person?: { id: string; role: string } };
const ofPerson = (member: Member, role = "member"): Claims => ({
  keyId: keyIdOf(member.key),
  person: { id: member.id, role },
});
/** A request with the key of a member or the app's server, and claims beside it. */
const claim = ({ key }: Member | TestApp, claims: Claims) =>
  contextOf({ id: world.wiki.id, key }, claims);

type Followed = { reader: EventReader; text: () => string; isEnded: () => boolean };

async function follow(context: string): Promise<Followed> {
  const call = { audience: "data", target: path("todos", "/changes"), context } as const;
  const reader = await openEvents(data.url + call.target, { headers: signHeaders(call) });
  const events: unknown[] = [];
  let isEnded = false;
  void (async () => {
    for (;;) {
      const event = await reader.next().catch(() => undefined);
      if (event === undefined) break;
      events.push(event);
    }
    isEnded = true;
  })();
  if (reader.response.status === 200) await eventually(() => events.length > 0);
  return { reader, text: () => JSON.stringify(events), isEnded: () => isEnded };
}

test("a stream has the events of its proof, whatever key and person it claims", async () => {
  const { ada, bob, wiki, post } = world;
  // Without a person, the functions for API keys reject the proof.
  const opened = [
    await follow(claim(wiki, { keyId: keyIdOf(wiki.key) })),
    await follow(claim(ada, ofPerson(ada))),
  ] as const;
  const forged: Claims[] = [
    { ...ofPerson(bob), keyId: "" },
    { ...ofPerson(bob), keyId: keyIdOf(ada.key) },
    { ...ofPerson(ada) },
  ];
  const stolen = await Promise.all(forged.map((claims) => follow(claim(bob, claims))));
  const bare = await follow(claim(bob, { keyId: keyIdOf(bob.key) }));
  expect(bare.reader.response.status).toBe(401);
  const secret = rowOf(await post(ada, "todos", { title: "Ada's secret" }));
  for (const { text } of opened) await eventually(() => text().includes("Ada's secret"));
  // A change that the person does not see leads to a reset.
  for (const { text } of stolen) await eventually(() => text().includes("reset"));
  const own = rowOf(await post(bob, "todos", { title: "Bob's own" }));
  for (const { reader, text } of stolen) {
    expect(reader.response.status).toBe(200);
    await eventually(() => text().includes(own.id));
    expect(text()).not.toMatch(new RegExp(`Ada's secret|${secret.id}`));
  }
  for (const { reader } of [...opened, ...stolen]) await reader.close();
});

test("a stream ends with its own key, also if it claims the id of another one", async () => {
  const { wiki, service } = world;
  const deps = testDeps(service.service);
  const key = await issueKey(deps, {
    slug: wiki.slug,
    name: "ends",
    scopes: ["data:read"],
    expiresAt: undefined,
  });
  service.secrets.add(key.text);
  const kept = await follow(claim(wiki, { keyId: keyIdOf(wiki.key) }));
  const ending = await follow(claim({ ...wiki, key: key.text }, { keyId: keyIdOf(wiki.key) }));
  await revokeKey(deps, key.keyId);
  await eventually(() => ending.isEnded());
  expect(kept.isEnded()).toBe(false);
  await kept.reader.close();
});

test("without its person, a person's key gets no name of a table or column", async () => {
  const { bob, wiki } = world;
  const context = claim(bob, { keyId: keyIdOf(bob.key) });
  const calls = [
    { target: "/v1/openapi.json" },
    { target: path("todos"), body: { cost: "much", nothing: 1 } },
    { target: path("todos", "?cost=eq.much") },
    { target: path("todos", "?nothing=eq.1") },
    { target: path("ledgers") },
    // Not known to the app: as a table that it has.
    { target: path("nothing") },
  ];
  for (const call of calls) {
    const { status, text } = await sendSigned(data.url, { audience: "data", context, ...call });
    expect([call.target, status]).toEqual([call.target, 401]);
    expect(text).not.toMatch(/cost|ledgers/);
  }
  const server = claim(wiki, { keyId: "" });
  const { status, text } = await sendSigned(data.url, {
    ...{ audience: "data", target: "/v1/openapi.json", context: server },
  });
  expect([status, text]).toEqual([200, expect.stringContaining("ledgers")]);
});
