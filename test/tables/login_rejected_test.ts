/** A process with a wrong login for pushes: each route of push reports the error, and all other routes work. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { LOGIN } from "../support/cluster.ts";
import { codeOf } from "../support/problem.ts";
import { postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({ notes: { title: t.string() } });
const TEXT =
  "The login of ADMIN_DATABASE_URL cannot push here: the service's operator must correct it (run rowhouse doctor for details)";

test.each([
  { name: "the serving login", part: { username: LOGIN } },
  { name: "a login of a missing database", part: { pathname: "/not_there" } },
  { name: "a login of a database without Rowhouse", part: { pathname: "/postgres" } },
])("$name is rejected with 503, and not reported as a bug", ({ part }) => expectRejected(part));

testUnlessCitus("the nodes of the cluster require no password")(
  "a login with a wrong password is rejected with 503, and not reported as a bug",
  () => expectRejected({ password: "wrong" }),
);

async function expectRejected(part: Partial<URL>): Promise<void> {
  await using service = await openTestService({
    toAdminUrl: (url) => Object.assign<URL, object>(new URL(url), part).href,
  });
  const app = await service.makeApp();
  const responses = [
    await postSchema(service, app, schema, { journal: [], dryRun: false }),
    await service.call(app, "/v1/data/schema"),
    await service.call(app, "/v1/data/schema/migrations/1"),
  ];
  expect(responses.map(({ status, text }) => [status, codeOf(text)])).toEqual(
    responses.map(() => [503, "unavailable"]),
  );
  const [push, ...reads] = responses;
  expect(push?.json).toMatchObject({ message: `${TEXT}; nothing was written` });
  for (const { json } of reads) expect(json).toMatchObject({ message: TEXT });
  expect(responses.some(({ headers }) => headers.has("retry-after"))).toBe(false);
  expect((await service.call(app, "/v1/data/db/notes")).status).toBe(404);
  const log = service.log.join("\n");
  expect(log).toContain(`"level":"error","event":"login cannot push","message":"${TEXT}"`);
  expect(log).not.toContain('"event":"bug"');
}
