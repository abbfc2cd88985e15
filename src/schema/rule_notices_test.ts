import { describe, expect, test } from "bun:test";
import { listRuleNotices, type TableSources, t, toDefinition } from "./mod.ts";

function messages(tables: TableSources): string[] {
  const reading = toDefinition({ tables });
  if ("issues" in reading) throw new Error(JSON.stringify(reading.issues));
  return listRuleNotices(reading.definition).map(({ message }) => message);
}

describe("listRuleNotices() names", () => {
  test.each([[{ owner: "me" }], [{ owner: ["me", "you"] }]] as const)(
    'a text that a rule compares with "me": %j',
    (read) => {
      const columns = { owner: t.string(), person: t.uuid().index() };
      const notes = t.model(columns).allow("member", { read });
      const notice =
        'A rule compares the text notes.owner with "me": only on a t.uuid() column, "me" is the person';
      expect(messages({ notes })).toContain(notice);
      const right = t.model(columns).allow("member", { read: { person: "me" } });
      expect(messages({ notes: right })).toEqual([]);
    },
  );

  test("roles that can create no row, because they read no row that it must reference", () => {
    const teams = t.model({ name: t.string() }).allow("lead", { read: true });
    const rights = { read: true, create: true } as const;
    const todos = t
      .model({ team: t.ref("teams").required(), other: t.ref("teams") })
      .allow("lead", rights)
      .allow("member", rights)
      .allow("viewer", { read: true });
    expect(messages({ teams, todos })).toEqual([
      "member can create no row of todos: team is required, and member reads no row of teams",
    ]);
  });
});
