/** Pushes that wait for their turn, and let other requests run. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { postSchema } from "../support/push.ts";
import { definitionOf, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const PUSHES_PER_HOUR = 3;
const service = await share(
  openTestService({
    service: { pushLimits: { pushesPerHour: PUSHES_PER_HOUR, journalBytes: 20_000 } },
  }),
);

test("pushes with a long plan let other requests run", async () => {
  const other = await service.makeApp();
  const apps = await Promise.all(Array.from({ length: 4 }, () => service.makeApp()));
  await postSchema(service, other, defineSchema({ notes: { title: t.string() } }));
  const columns = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`c${n}`, t.string()]));
  const tables = Array.from({ length: 300 }, (_, n) => [`wide_${n}`, columns]);
  const definition = definitionOf(defineSchema(Object.fromEntries(tables)));
  const body = JSON.stringify({ steps: [{ kind: "define", definition }], dryRun: true });
  const call = { method: "POST", body, headers: { "content-type": "application/json" } };
  let asked = 0;
  let isOver = false;
  const ask = async () => {
    while (!isOver) {
      await service.call(other, "/v1/data/db/notes");
      asked++;
    }
  };
  /** For each push, the requests answered before it ended. */
  const ends: number[] = [];
  const asking = ask();
  const pushes = apps.flatMap((app) =>
    Array.from({ length: PUSHES_PER_HOUR }, async () => {
      const { status } = await service.call(app, "/v1/data/schema", call);
      ends.push(asked);
      return status;
    }),
  );
  const statuses = await Promise.all(pushes);
  isOver = true;
  await asking;
  // Each push is planned, and then exceeds the limit of the journal.
  expect(statuses).toEqual(pushes.map(() => 413));
  const together = Map.groupBy(ends, (answered) => answered).values();
  expect(Math.max(...together.map(({ length }) => length))).toBeLessThan(pushes.length / 2);
});

test("rowhouse db plan waits for its turn up to --wait, and reports the reason", async () => {
  const app = await service.makeApp();
  for (let n = 0; n < PUSHES_PER_HOUR; n++) await postSchema(service, app, defineSchema({}));
  using project = makeProject({ "schema/mod.ts": schemaText("{}") });
  const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
  const plan = (wait: string) =>
    runHere(["db", "plan", "--wait", wait], { folder: project.folder, env });

  const impatient = await plan("1");
  // The next push is due in seconds, regardless of the start time of the commands.
  await service.service.admin.query(
    "update rowhouse.push_allowances set pushes = 0, counted_at = clock_timestamp() - interval '1185 s' where app_id = $1",
    [app.id],
    { retry: "safe", queue: "test" },
  );
  const patient = await plan("30");

  expect(impatient.code).toBe(1);
  expect(impatient.err).toContain(`the limit is ${PUSHES_PER_HOUR} pushes an hour`);
  expect(patient).toMatchObject({ code: 0 });
  expect(patient.err).toContain("Waiting: ");
});
