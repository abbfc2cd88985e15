/** The Console's pages of rules: of an app by role, and of a table by app. The sentences are tested in `src/schema/`. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { rowsOf, textOf } from "../support/page_text.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { freshName } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const [notes, todos] = [freshName(), freshName()];
const columns = { title: t.string(), owner: t.uuid().owner() };
const RULED = defineSchema({
  [notes]: { text: t.string() },
  [todos]: t
    .model({ ...columns, cost: t.decimal().only("lead") })
    .allow("member", { read: [{ owner: "me" }, { title: "a; <b>" }], create: true })
    .allow("lead", { read: true }),
});
const SHARED = defineSchema({ [todos]: t.model(columns).allow("boss", { read: true }) });

const service = await share(openTestService({ service: { previews: ["browser"] } }));
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
const [app, other] = [await service.makeApp(RULED), await service.makeApp(SHARED)];
const show = (path: string) => visit(service, jar, path);

test("an app's page has the rights of each role on each table, and notices", async () => {
  const page = await show(`/console/apps/${app.slug}/rules`);
  expect(page.status).toBe(200);
  const text = textOf(page);
  expect(text).toContain('read rows where owner is the person or title = "a; &lt;b&gt;"');
  expect(text).toContain("never sees cost");
  expect(text).toContain(`${notes} has no rules`);
  expect(text).not.toContain("boss");
  const rows = rowsOf(page).filter((row) => /^t_/.test(row));
  expect(rows.map((row) => row.split(" ")[0]).sort()).toEqual([notes, notes, todos, todos].sort());
  expect(page.text).toMatch(/href="[^"]+\/rules" aria-current="page">Rules</);
});

test("an app's page says whether people can use the rules", async () => {
  const path = `/console/apps/${app.slug}/rules`;
  expect(textOf(await show(path))).toContain("Browser access is off for this app");
  await setAppSwitch(testDeps(service.service), app.slug, ["browser", true]);
  expect(textOf(await show(path))).not.toContain("Browser access is off for this app");
});

test("a table's page has the rights of each app that has rules", async () => {
  const page = await show(`/console/tables/${todos}/rules`);
  const text = textOf(page);
  for (const name of [app.slug, other.slug, "boss", "lead", "member"]) expect(text).toContain(name);
  expect(textOf(await show(`/console/tables/${notes}/rules`))).toContain("No app has rules");
  expect((await show(`/console/tables/${freshName()}/rules`)).status).toBe(404);
  expect((await show(`/console/tables/${todos}`)).text).toContain(`/console/tables/${todos}/rules`);
});

test("a push has its changes of rights", async () => {
  const name = freshName();
  const model = t.model({ title: t.string().index() });
  const pushed = await service.makeApp(
    defineSchema({ [name]: model.allow("boss", { read: { title: "a" } }) }),
  );
  await service.pushSchema(pushed, defineSchema({ [name]: model.allow("boss", { read: true }) }));
  const text = textOf(await show(`/console/apps/${pushed.slug}/pushes/2`));
  expect(text).toContain("rules of boss: read all rows; never creates, changes or deletes");
  expect(text).toContain("rules of boss: read rows where title = a;");
});

test("an app without rules has a page that says so", async () => {
  const plain = await service.makeApp(defineSchema({ [freshName()]: { text: t.string() } }));
  const page = await show(`/console/apps/${plain.slug}/rules`);
  expect(textOf(page)).toContain("has no rules");
});

test("without the preview, there are no pages and no links", async () => {
  await using plain = await openTestService({ service: { previews: [] } });
  const own = await signInAs(plain, await makePerson(plain, { consoleRole: "admin" }));
  const app = await plain.makeApp(defineSchema({ [notes]: { text: t.string() } }));
  for (const of of [`apps/${app.slug}`, `tables/${notes}`]) {
    expect((await visit(plain, own, `/console/${of}`)).text).not.toContain(`${of}/rules`);
    expect((await visit(plain, own, `/console/${of}/rules`)).status).toBe(404);
  }
});
