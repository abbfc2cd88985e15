/** A pipelined request sends exactly one statement. Without prepared statements, none is pipelined. */
import { expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService } from "../support/service.ts";

const TIMES = 3;

test.each([true, false])(
  "a get and /v1/auth/me each send one statement, also without a row or a session, pipelined if it is prepared (prepare: %p)",
  async (prepare) => {
    await using proxy = await openPostgresProxy();
    await using service = await openTestService({
      shape: "one",
      prepare,
      toServingUrl: proxy.toUrl,
      identity: () => ({ cookieDomain: "example.org" }),
    });
    const app = await service.makeApp(schema);
    const created = await service.call(app, "/v1/data/db/todos", {
      method: "POST",
      json: { title: "one" },
    });
    const cookie = sharedCookie(await signInAs(service, await makePerson(service)));
    // The proof is of another secret.
    const unknown = cookie.replace(/.{8}$/, "AAAAAAAA");
    const pipelines = new Set<number>();
    const statements = { pipelined: 0, separate: 0 };
    proxy.onMessage(({ connection, from, type, body, statement }) => {
      if (from === "client" && type === "" && body.includes("rowhouse pipeline"))
        pipelines.add(connection);
      if (type === "B" && statement?.includes(" as echo") === true)
        statements[pipelines.has(connection) ? "pipelined" : "separate"]++;
      return undefined;
    });
    // A request waits only briefly for a closed pipeline.
    await eventually(async () => {
      await service.call(app, created.headers.get("location") ?? "");
      return statements[prepare ? "pipelined" : "separate"] > 0;
    });
    Object.assign(statements, { pipelined: 0, separate: 0 });
    for (let time = 0; time < TIMES; time++) {
      const { status } = await service.call(app, created.headers.get("location") ?? "");
      const missing = await service.call(app, `/v1/data/db/todos/${crypto.randomUUID()}`);
      const me = await service.call(undefined, `/v1/auth/me?app=${app.slug}`, {
        headers: { cookie },
      });
      const anyApp = await service.call(undefined, "/v1/auth/me", { headers: { cookie } });
      const ended = await service.call(undefined, "/v1/auth/me", { headers: { cookie: unknown } });
      expect([status, missing.status]).toEqual([200, 404]);
      expect([me.status, anyApp.status, ended.status]).toEqual([403, 200, 401]);
    }
    const sent = 5 * TIMES;
    expect(statements).toEqual(
      prepare ? { pipelined: sent, separate: 0 } : { pipelined: 0, separate: sent },
    );
  },
);
