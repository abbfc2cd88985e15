/** Which requests are pipelined, with prepared statements and without: whoever is, is asked once and never again. */
import { expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService } from "../support/service.ts";

const TIMES = 3;

test.each([true, false])(
  "a get and /v1/auth/me are one pipelined statement each (prepare: %p)",
  async (prepare) => {
    const proxy = await openPostgresProxy();
    const service = await openTestService({
      shape: "one",
      prepare,
      toServingUrl: proxy.toUrl,
      identity: () => ({ cookieDomain: "example.org" }),
    });
    const app = await service.makeApp(schema);
    const made = await service.call(app, "/v1/data/db/todos", {
      method: "POST",
      json: { title: "one" },
    });
    const cookie = sharedCookie(await signInAs(service, await makePerson(service)));
    const pipelines = new Set<number>();
    const asked = { pipelined: 0, alone: 0 };
    proxy.onMessage(({ connection, from, type, body, statement }) => {
      if (from === "client" && type === "" && body.includes("rowhouse pipeline"))
        pipelines.add(connection);
      if (type === "B" && statement?.includes(" as echo") === true)
        asked[pipelines.has(connection) ? "pipelined" : "alone"]++;
      return undefined;
    });
    // Whoever finds the pipeline not connected yet waits for it for a moment only.
    await eventually(async () => {
      await service.call(app, made.headers.get("location") ?? "");
      return asked.pipelined > 0;
    });
    Object.assign(asked, { pipelined: 0, alone: 0 });
    for (let time = 0; time < TIMES; time++) {
      const { status } = await service.call(app, made.headers.get("location") ?? "");
      const me = await service.call(undefined, `/v1/auth/me?app=${app.slug}`, {
        headers: { cookie },
      });
      const anyApp = await service.call(undefined, "/v1/auth/me", { headers: { cookie } });
      expect([status, me.status, anyApp.status]).toEqual([200, 403, 200]);
    }
    expect(asked).toEqual({ pipelined: 3 * TIMES, alone: 0 });
    await service.close();
    await proxy.close();
  },
);
