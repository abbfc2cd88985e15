/** `rowhouse admin import-app` of archives with rows and digests that no `export-app` writes. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MOST_BATCH_BYTES } from "../../src/std/limits.ts";
import {
  create,
  findApp,
  forge,
  makeArchivedApp,
  makeNames,
  openArchives,
} from "../support/archives.ts";
import { freshName } from "../support/push.ts";
import { share } from "../support/share.ts";

const archives = await share(openArchives());
const { here, there } = archives;

const makeFile = () => archives.makeFile();

const TOO_LONG = JSON.stringify("x".repeat(MOST_BATCH_BYTES));

describe("an archive with values that writes reject", () => {
  const name = freshName();
  const schema = defineSchema({
    [name]: {
      label: t.string(),
      size: t.number(),
      price: t.decimal(),
      due: t.timestamp(),
      extra: t.json(),
      token: t.uuid(),
      kind: t.enum(["a", "b"]),
    },
  });
  let text: string;
  let slug: string;
  beforeAll(async () => {
    const app = await here.service.makeApp(schema);
    slug = app.slug;
    const row = { label: "plain", size: 1e300, price: "12345678901234567890.10", extra: { a: 1 } };
    await create(here, app, name, { ...row, kind: "a", due: "0001-01-01T00:00:00Z" });
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    text = readFileSync(file, "utf8");
  });
  /** The archive with another row, or with another value of a column, and correct digests. */
  const write = (change: (row: string) => string): string => {
    const file = makeFile();
    writeFileSync(
      file,
      forge(text, (line) => (line.startsWith('{"id"') ? change(line) : line)),
    );
    return file;
  };
  const writeWith = (column: string, json: string) =>
    write((row) =>
      row.replace(new RegExp(`"${column}": ("[^"]*"|\\{[^}]*\\}|[^,}]*)`), `"${column}": ${json}`),
    );

  test("imports valid values", async () => {
    expect(
      await there.json("import-app", writeWith("label", '"other"'), "--dry-run"),
    ).toMatchObject({ rows: 1 });
  });

  test.each([
    { column: "size", json: '"NaN"', message: "Must be a number" },
    { column: "size", json: '"Infinity"', message: "Must be a number" },
    { column: "size", json: "1e400", message: "exactly" },
    { column: "price", json: '"NaN"', message: "Must be a decimal" },
    { column: "due", json: '"infinity"', message: "Must be an existing date" },
    { column: "due", json: '"20000-01-01T00:00:00+00:00"', message: "Must be an existing date" },
    { column: "label", json: TOO_LONG, message: "a write accepts max" },
    { column: "label", json: '"\\ud800"', message: "surrogate" },
    { column: "extra", json: "[".repeat(3000) + "]".repeat(3000), message: "nested deeper" },
    { column: "extra", json: "[".repeat(100_000), message: "nested deeper" },
    { column: "token", json: '"x"', message: "Must be a uuid" },
    { column: "kind", json: '"c"', message: "Must be one of" },
    { column: "id", json: '"x"', message: "must be a uuid" },
  ])("rejects another $column before any write: $message", async ({ column, json, message }) => {
    const { code, err } = await there.run("import-app", writeWith(column, json));
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect(err).toContain("Nothing was written");
    expect(await findApp(there, slug)).toBeUndefined();
  });

  test.each(["x", "null", "[]", '"x"', `${"[".repeat(9_000_000)}`])(
    "rejects a row that is not an object: %.10s",
    async (row) => {
      const { code, err } = await there.run(
        "import-app",
        write(() => row),
      );
      expect([code, err]).toEqual([1, expect.stringMatching(/is not a JSON object|nested deeper/)]);
      expect(await findApp(there, slug)).toBeUndefined();
    },
  );
});

const OTHER_ID = "0190163d-8694-739b-aea5-966c26f8ad91";
const TITLE = '"title": "Dig"';
test.each<[name: string, part: string | RegExp, by: string, err: string]>([
  ["a dangling reference", /"project": "[^"]*/, `"project": "${OTHER_ID}`, "violates a constraint"],
  ["null for a required column", TITLE, '"title": null', "violates a constraint"],
  ["a column that the table lacks", TITLE, `"titel": "Dig", ${TITLE}`, "differ from the archive"],
  ["the id of another app", TITLE, `${TITLE}, "app_id": "${OTHER_ID}"`, "differ from the archive"],
])("a forged archive with %s leaves the app disabled", async (_, part, by, err) => {
  const names = makeNames();
  const app = await makeArchivedApp(here, names);
  const [file, forged] = [makeFile(), makeFile()];
  await here.run("export-app", app.slug, file);
  const change = (line: string) => line.replace(part, by);
  writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
  const failed = await there.run("import-app", forged);
  expect([failed.code, failed.err]).toEqual([1, expect.stringContaining(err)]);
  expect(failed.err).not.toContain("bug in rowhouse");
  expect((await there.run("list-apps")).out).toMatch(new RegExp(`${app.slug} .*disabled`));
});
