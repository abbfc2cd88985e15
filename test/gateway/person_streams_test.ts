/** Event streams of a person: all keys of the person for an app share one limit, so that no person uses up the app's streams. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type EventReader, openEvents } from "../support/event_stream.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const ORIGIN = "https://wiki.example.org";
const LIMIT = 3;

describe.each(SHAPES)("in the shape %s", (shape) => {
  let service: TestService;
  let app: TestApp;
  const opened: EventReader[] = [];
  beforeAll(async () => {
    service = await openTestService({
      shape,
      identity: () => ({ cookieDomain: "example.org" }),
      service: {
        previews: ["browser", "live"],
        maxStreams: { app: 2 * LIMIT, key: 2 * LIMIT, person: LIMIT },
      },
    });
    const todos = t.model({ title: t.string() }).allow("member", { read: true });
    app = await service.makeApp(defineSchema({ todos }), { origins: [ORIGIN] });
    await openToBrowsers(service, app);
    await setAppSwitch(service.service, app.slug, ["live", true]);
    await service.service.warm();
  });
  afterAll(async () => {
    for (const events of opened) await events.close();
    await service.close();
  });

  async function listen(key: string): Promise<number> {
    const events = await openEvents(`${service.url}/v1/data/db/todos/changes`, { key });
    opened.push(events);
    return events.response.status;
  }

  test("a person's keys share a number of streams, and another person has as many", async () => {
    const newKeys = async () => {
      const cookies = await signInAs(service, await makePerson(service, { app, role: "member" }));
      const open = () => getPersonKey(service, { cookies, app, origin: ORIGIN });
      return [(await open()).key, (await open()).key] as const;
    };
    const [one, two] = await newKeys();
    const statuses = [await listen(one), await listen(two), await listen(one), await listen(two)];
    expect(statuses).toEqual([200, 200, 200, 429]);
    const rejected = opened.at(-1)?.response;
    expect(rejected?.headers.get("retry-after")).toBe("5");
    const [another] = await newKeys();
    expect(await listen(another)).toBe(200);
  });
});
