/** Two apps on one table: whatever its owner adds, requests of the other app take no longer than on a table of its own. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openTestService, type TestService } from "../support/service.ts";
import { makeBurdened } from "../support/shared_table.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const FIRST = "00000000-0000-7000-8000-000000000001";
const LONG = Buffer.from(crypto.getRandomValues(new Uint8Array(9000))).toString("base64");

test("requests to a shared table are as fast as to an unchanged table", async () => {
  const { name, plain, app, control } = await makeBurdened(service);
  for (const [one, of] of [
    [app, name],
    [control, plain],
  ] as const)
    await service.service.admin.message(`insert into data.${of} (app_id, id, title)
      select '${one.id}', case n when 1 then '${FIRST}' else gen_random_uuid() end::uuid, 'row ' || n
      from generate_series(1, 300) n returning id`);

  const times: Record<"app" | "control", number[]> = { app: [], control: [] };
  const measure = async (who: "app" | "control") => {
    const [one, path] = who === "app" ? [app, name] : [control, plain];
    const list = `/v1/data/db/${path}`;
    const post = (json: object) => service.call(one, list, { method: "POST", json });
    const startedAt = performance.now();
    const long = await post({ title: LONG });
    const short = await post({ title: "short" });
    const responses = [
      long,
      short,
      await service.call(one, `${list}?limit=20`),
      await service.call(one, `${list}/${FIRST}`),
      await service.call(one, `${list}/${FIRST}`, { method: "PATCH", json: { title: "next" } }),
    ];
    for (const { headers } of [long, short])
      responses.push(await service.call(one, headers.get("location") ?? "", { method: "DELETE" }));
    times[who].push(performance.now() - startedAt);
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 200, 200, 200, 204, 204]);
  };
  for (let round = 0; round < 25; round++) {
    await measure("app");
    await measure("control");
  }
  // The fastest of each: other work on the machine only adds time.
  expect(Math.min(...times.app)).toBeLessThan(2 * Math.min(...times.control));
}, 60_000);
