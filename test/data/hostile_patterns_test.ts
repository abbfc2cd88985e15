/**
 * A pattern that ends in a backslash fails where it is compared with a text that begins with the rest of it. No plan of an app's own
 * compares one with the text of another app: not in a row, and not in the statistics of the planner.
 */
import { expect } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { renderCall } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  notes: t.model({ kind: t.enum(["a", "b"]), title: t.string().required() }),
});
const SORTS = [undefined, [["id", false]], [["title", true]]];
const LIKE = ["like", "title", 1];
const CONDITIONS = [
  LIKE,
  ["not", LIKE],
  ["or", LIKE, ["null", "kind"]],
  ["or", ["null", "id"], ["not", ["not", LIKE]]],
  ["and", ["null", "kind"], LIKE],
];

testUnlessCitus("a cluster has no query functions")(
  "no pattern is compared with another app's text",
  async () => {
    await using service = await openTestService({ service: { previews: ["filters"] } });
    const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];
    for (const [by, titles] of [
      [app, ["mine"]],
      [other, Array.from({ length: 20 }, () => "secret")],
    ] as const) {
      const json = titles.map((title) => ({ title }));
      await service.call(by, "/v1/data/db/notes", { method: "POST", json });
    }
    await service.service.admin.message("analyze data.notes; select 1");
    const login = postgres(service.database.servingUrl, { max: 1, prepare: false });
    const ask = (endpoint: "find" | "find_groups", plan: object, text: string) =>
      login
        .unsafe(
          `select ${renderCall(schema, "notes", endpoint, { app: "$1", proof: proofOf(app.key), values: "$2, $3, 8388608, ''" })} as body`,
          [app.id, JSON.stringify(plan), [text]],
        )
        .then(
          ([row]) => String(row?.["body"]).replace(/^[^{]*/, ""),
          ({ code }: { code: string }) => code,
        );
    for (const where of CONDITIONS) {
      for (const sort of SORTS)
        for (const parts of [[{ sort }], [{ sort, where: LIKE }]]) {
          const page = { limit: 10, offset: 0, cursor: "x", order: ["id"], picked: [], counted: 5 };
          const found = await ask("find", { ...page, where, parts }, "secre\\");
          expect({ where, found }).toEqual({ where, found: expect.stringMatching(/^\{"rows":/) });
        }
      const grouped = await ask("find_groups", { where, by: ["kind"] }, "secre\\");
      expect({ where, grouped }).toEqual({ where, grouped: expect.stringMatching(/^\{"groups":/) });
      expect(await ask("find_groups", { where, by: ["kind"] }, "min\\")).toBe("22025");
    }
    await login.end();
  },
);
