/** Attacks of people on event streams: events of rows that the person does not see, columns, streams after the end of a key. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { revokeRole } from "../../src/records/people/mod.ts";
import { type EventReader, openEvents, type StreamEvent } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { type Member, openPersonWorld, path, type Row, rowOf } from "../support/person_app.ts";
import type { TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const T = path("todos");
const world = await share(openPersonWorld());
await setAppSwitch(world.service.service, world.wiki.slug, ["live", true]);

type Followed = {
  events: StreamEvent[];
  reader: EventReader;
  isEnded: boolean;
  text: () => string;
};

/** Follows the todos from the first event on. */
async function follow(by: Member | TestApp): Promise<Followed> {
  const reader = await openEvents(`${world.service.url}${T}/changes`, { key: by.key });
  expect(reader.response.status).toBe(200);
  const events: StreamEvent[] = [];
  const followed = { events, reader, isEnded: false, text: () => JSON.stringify(events) };
  void (async () => {
    for (;;) {
      const event = await reader.next().catch(() => undefined);
      if (event === undefined) break;
      events.push(event);
    }
    followed.isEnded = true;
  })();
  await eventually(() => events.length > 0);
  return followed;
}

test("a stream has the rows and columns that the person sees, and no id of others", async () => {
  const { ada, bob, vera, wiki, post, patch, remove } = world;
  const streams = [await follow(ada), await follow(bob), await follow(vera), await follow(wiki)];
  const [ofAda, ofBob, ofVera, ofServer] = streams as [Followed, Followed, Followed, Followed];
  const secret = rowOf(await post(bob, "todos", { title: "Bob's secret" }));
  await eventually(() => [ofBob, ofServer].every(({ text }) => text().includes("Bob's secret")));
  await eventually(() => ofAda.events.some(({ kind }) => kind === "reset"));
  await patch(wiki, `${T}/${secret.id}`, { cost: "7.77", status: "done" });
  await eventually(() => ofVera.text().includes("Bob's secret"));
  await eventually(() => ofServer.text().includes("7.77"));
  for (const { text } of [ofBob, ofVera]) expect(text()).not.toMatch(/7\.77|"cost"/);
  const before = ofAda.events.length;
  await remove(wiki, `${T}/${secret.id}`);
  await eventually(() => ofServer.text().includes(`"delete":"${secret.id}"`));
  await eventually(() => ofAda.events.length > before);
  expect(ofAda.text()).not.toMatch(new RegExp(`secret|${secret.id}`));
  for (const { reader } of streams) await reader.close();
});

test("a stream resumes only with the rows that the person sees now", async () => {
  const { ada, bob, wiki, post, patch, service } = world;
  const first = await follow(ada);
  const own = rowOf(await post(ada, "todos", { title: "to give away" }));
  await eventually(() => first.text().includes("to give away"));
  const since = first.events.at(-1)?.id;
  await first.reader.close();
  await patch(wiki, `${T}/${own.id}`, { owner: bob.id, title: "given away" });
  for (const key of [ada.key, bob.key]) {
    await using resumed = await openEvents(`${service.url}${T}/changes`, { key, since });
    const event = await resumed.next();
    if (key === ada.key) expect(JSON.stringify(event?.data)).not.toMatch(/given away/);
    else expect(event?.kind).toBeOneOf(["reset", "changes"]);
  }
});

test("a role without a rule for reading, and a table without rules, have no stream", async () => {
  const { ada, carl, service } = world;
  for (const [by, table] of [
    [carl, "todos"],
    [ada, "ledgers"],
  ] as const) {
    const { response, close } = await openEvents(`${service.url}${path(table, "/changes")}`, {
      key: by.key,
    });
    expect(response.status).toBe(403);
    await close();
  }
});

test("a revoked role ends the stream of the person, and no other stream", async () => {
  const { ada, bob, wiki, service, post } = world;
  const [ofAda, ofBob] = [await follow(ada), await follow(bob)];
  await revokeRole(service.service, { email: ada.email, slug: wiki.slug });
  await eventually(() => ofAda.isEnded);
  const row = rowOf(await post(bob, "todos", { title: "after" })) as Row;
  await eventually(() => ofBob.text().includes(row.id));
  expect(ofBob.isEnded).toBe(false);
  expect(ofAda.text()).not.toContain(row.id);
  await ofBob.reader.close();
});
