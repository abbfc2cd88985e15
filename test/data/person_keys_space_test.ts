/** The space for idempotency keys: one person cannot use up that of the app, which would reject the keyed writes of everyone. */
import { expect, test } from "bun:test";
import { openPersonWorld, path } from "../support/person_app.ts";
import { share } from "../support/share.ts";

const BYTES = 80_000;
const TITLE = "x".repeat(3000);

const world = await share(openPersonWorld({ service: { idempotencyBytes: BYTES } }));

test("a person gets an eighth of it, and the others keep the rest", async () => {
  const { ada, bob, wiki, send } = world;
  const create = async (by: typeof ada | typeof wiki, key: string | undefined) => {
    const { status, text } = await send(by, path("todos"), {
      method: "POST",
      json: { title: TITLE, ...(by === wiki ? { owner: ada.id } : {}) },
      headers: key === undefined ? {} : { "idempotency-key": key },
    });
    return { status, text };
  };
  const statuses: number[] = [];
  for (let n = 0; n < 6; n++) statuses.push((await create(ada, `ada ${n}`)).status);
  expect(statuses).toEqual([201, 201, 201, 429, 429, 429]);
  expect((await create(ada, "ada 7")).text).toContain("idempotency_full");
  // A repeat of a known key, and a write without a key, need no space.
  expect((await create(ada, "ada 0")).status).toBe(201);
  expect((await create(ada, undefined)).status).toBe(201);
  expect((await create(bob, "bob")).status).toBe(201);
  expect((await create(wiki, "server")).status).toBe(201);
});
