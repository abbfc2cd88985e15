import { describe, expect, test } from "bun:test";
import { schema as design } from "../../test/types/dsl_rules.ts";
import {
  explainRuleChanges,
  explainRules,
  listRoles,
  listRuleNotices,
  type TableDefinition,
  type TableSources,
  t,
  toDefinition,
} from "./mod.ts";

function read(tables: object): { tables: readonly TableDefinition[] } {
  const reading = toDefinition({ tables });
  if ("issues" in reading) throw new Error(JSON.stringify(reading.issues));
  return reading.definition;
}
const DESIGN = read(design.tables);

function rightsOf(role: string): string[] {
  return explainRules(DESIGN, [role]).map(({ table, rights }) => `${table}: ${rights}`);
}

describe("explainRules()", () => {
  test.each([
    {
      role: "member",
      rights: [
        "team_members: read rows where person is the person; never creates, changes or deletes",
        "teams: read all rows; never creates, changes or deletes",
        "todos: read rows where owner is the person or team of the person's team_members; create rows where status = open; change rows where owner is the person and status = open, to rows where owner is the person and status one of open, done; delete rows where owner is the person and status = open; never sees cost; never sets approved_by, owner",
      ],
    },
    {
      role: "viewer",
      rights: [
        "team_members: no access",
        "teams: no access",
        "todos: read rows where status one of done, approved; never creates, changes or deletes; never sees cost",
      ],
    },
    {
      role: "lead",
      rights: [
        "team_members: no access",
        "teams: read all rows; never creates, changes or deletes",
        "todos: read all rows; create rows; change all rows; never deletes; never sets owner",
      ],
    },
    {
      role: "admin",
      rights: [
        "team_members: read all rows; create rows; change all rows; delete all rows",
        "teams: read all rows; create rows; change all rows; delete all rows",
        "todos: no access",
      ],
    },
    {
      role: "constructor",
      rights: ["team_members: no access", "teams: no access", "todos: no access"],
    },
  ])("lists the rights of $role in the schema of the design", ({ role, rights }) => {
    expect(rightsOf(role)).toEqual([...rights]);
  });

  test("lists all roles, sorted", () => {
    expect(listRoles(DESIGN.tables)).toEqual(["admin", "lead", "member", "viewer"]);
    expect(explainRules(DESIGN)).toHaveLength(12);
  });

  const all = t.model({
    title: t.string(),
    urgent: t.boolean(),
    rank: t.number(),
    owner: t.uuid(),
    status: t.enum(["b c", "a"]),
    team: t.ref("teams"),
  });
  const ofTeams = {
    teams: {},
    team_members: { person: t.uuid(), team: t.ref("teams"), level: t.string() },
  };
  test.each([
    {
      name: "alternatives with several conditions",
      model: all.allow("a", { read: [{ owner: "me", urgent: true }, { title: null }] }),
      text: "rows where owner is the person and urgent = true, or where title is null",
    },
    {
      name: "a text that is the word me",
      model: all.allow("a", { read: { title: "me" } }),
      text: "rows where title = me",
    },
    {
      name: "an id",
      model: all.allow("a", { read: { id: "me" } }),
      text: "rows where id is the person",
    },
    {
      name: "hostile texts",
      model: all.allow("a", { read: { title: ["x\n- drop", "\u202Ey", 'it"s', ""] } }),
      text: 'rows where title one of "", "it\\"s", "x\\n- drop", "\\u202ey"',
    },
    {
      name: "numbers in order",
      model: all.allow("a", { read: { rank: [10, -1, 9] } }),
      text: "rows where rank one of -1, 9, 10",
    },
    {
      name: "values of an enum as declared",
      model: all.allow("a", { read: { status: ["a", "b c"] } }),
      text: 'rows where status one of "b c", a',
    },
    {
      name: "readable rows",
      model: all.allow("a", { read: { team: { readable: true } } }),
      text: "rows where team is readable",
    },
    {
      name: "memberships under conditions",
      model: all.allow("a", {
        read: { team: { memberOf: "team_members", where: { level: ["x y", "z"] } } },
      }),
      text: 'rows where team of the person\'s team_members with level one of "x y", z',
    },
  ])("describes $name", ({ model, text }) => {
    const [explained] = explainRules(read({ ...ofTeams, todos: model }), ["a"]).slice(-1);
    expect(explained?.rights).toBe(`read ${text}; never creates, changes or deletes`);
  });
});

describe("explainRuleChanges()", () => {
  const base = t.model({
    owner: t.uuid().required(),
    status: t.enum(["open", "done"]),
    cost: t.decimal(),
  });
  const of = (tables: TableSources) => read(tables).tables;
  test.each<{ name: string; before: TableSources; after: TableSources; lines: string[] }>([
    { name: "nothing", before: { todos: base }, after: { todos: base }, lines: [] },
    {
      name: "a changed rule",
      before: { todos: base.allow("member", { read: true, update: { owner: "me" } }) },
      after: {
        todos: base.allow("member", {
          read: true,
          update: { owner: "me", status: ["open", "done"] },
        }),
      },
      lines: [
        "~ member can change todos where owner is the person and status one of open, done (was: where owner is the person)",
      ],
    },
    {
      name: "roles with the same new right",
      before: { todos: base },
      after: { todos: base.allow(["member", "lead"], { read: true, create: true }) },
      lines: ["+ lead, member can read todos", "+ lead, member can create todos"],
    },
    {
      name: "a removed role",
      before: { todos: base.allow(["member", "lead"], { read: true }) },
      after: { todos: base.allow("lead", { read: true }) },
      lines: ["- member can no longer read todos (was: all rows)"],
    },
    {
      name: "a rule that becomes wider",
      before: { todos: base.allow("member", { read: { owner: "me" } }) },
      after: { todos: base.allow("member", { read: true }) },
      lines: ["~ member can read todos (was: where owner is the person)"],
    },
    {
      name: "columns",
      before: { todos: base.allow(["member", "lead"], { read: true }) },
      after: {
        todos: t
          .model({
            owner: t.uuid().required().owner(),
            status: t.enum(["open", "done"]).setBy("lead"),
            cost: t.decimal().only("lead", "member"),
          })
          .allow(["member", "lead"], { read: true }),
      },
      lines: [
        "~ todos.cost: only lead and member can read or set it (was: no restriction)",
        "~ todos.owner: is the person who creates the row (was: no restriction)",
        "~ todos.status: only lead can set it (was: no restriction)",
      ],
    },
    {
      name: "a new and a removed table",
      before: { teams: t.model({}).allow("lead", { read: true }) },
      after: {
        todos: t.model({ owner: t.uuid().owner() }).allow("lead", { read: { owner: "me" } }),
      },
      lines: [
        "- lead can no longer read teams (was: all rows)",
        "+ lead can read todos where owner is the person",
        "+ todos.owner: is the person who creates the row",
      ],
    },
  ])("describes $name", ({ before, after, lines }) => {
    expect(explainRuleChanges(of(before), of(after))).toEqual(lines);
  });
});

describe("listRuleNotices()", () => {
  const messages = (tables: TableSources) =>
    listRuleNotices(read(tables)).map(({ table, message }) => `${table}: ${message}`);

  test("has no notice for a schema without rules", () => {
    expect(messages({ todos: { title: t.string().unique() } })).toEqual([]);
  });

  test("names who can write memberships, in the schema of the design", () => {
    expect(messages(design.tables)).toEqual([
      "team_members: admin writes memberships in team_members, which give access to rows of todos",
      'todos: No index serves the rule "status one of done, approved" of todos: add .index("status", "id"); its lists read all rows of the table',
    ]);
  });

  test("names tables without rules, hidden columns, unique columns, unreadable rows and cleared references", () => {
    const tables = {
      projects: { name: t.string() },
      teams: t.model({}).allow("lead", "everything"),
      todos: t
        .model({
          owner: t.uuid().owner(),
          code: t.string().unique(),
          key: t.string().unique().setBy("lead"),
          cost: t.decimal().only("lead").index(),
          team: t.ref("teams", { onDelete: "set null" }),
        })
        .unique("owner", "cost")
        .allow("lead", { read: true, create: true })
        .allow("member", {
          read: [{ owner: "me" }, { cost: "0" }, { team: { readable: true } }],
          create: true,
        }),
    };
    expect(messages(tables)).toMatchSnapshot();
  });

  test("knows the indexes of the stored table, and who adds them", () => {
    const name = "todos";
    const columns = { owner: t.uuid(), at: t.date(), rank: t.integer(), done: t.boolean() };
    const ruled = t.model(columns).allow("a", { read: [{ owner: "me" }, { done: true, rank: 1 }] });
    const [definition] = read({ [name]: t.model(columns).index("owner", "at") }).tables;
    const noticesOf = (isOwn: boolean) =>
      listRuleNotices(read({ [name]: ruled }), () => definition && { definition, isOwn });
    const start = 'No index serves the rule "done = true and rank = 1" of todos: ';
    const index = '.index("done", "rank", "id")';
    const end = "; its lists read all rows of the table";
    expect(noticesOf(true).map(({ message }) => message)).toEqual([`${start}add ${index}${end}`]);
    expect(noticesOf(false).map(({ message }) => message)).toEqual([
      `${start}only the app that owns the table can add ${index}${end}`,
    ]);
  });

  test.each([
    ["an enum of many values", t.enum(["a", ..."bcdefghij"]).index(), "a"],
    ["a long text", t.string().index(), ["a", "b".repeat(64)]],
    ["a number", t.number().index(), 1],
    ["a decimal", t.decimal().index(), "1"],
  ] as const)("says that no index serves a rule on %s", (_, column, value) => {
    const model = t.model({ column }).allow("a", { read: { column: value } as never });
    expect(messages({ todos: model })).toEqual([
      expect.stringMatching(
        /^todos: No index can serve the rule "column .*" of todos; its lists read all rows/,
      ),
    ]);
  });

  test.each([
    ["an enum", t.enum(["a", "b"]), "a"],
    ["values of an enum", t.enum(["a", "b"]), ["a", "b"]],
    ["a text", t.string(), "b".repeat(63)],
    ["a list", t.integer(), [1, 2]],
    ["null", t.uuid(), null],
  ] as const)("says which index serves a rule on %s", (_, column, value) => {
    const model = t.model({ column }).allow("a", { read: { column: value } as never });
    expect(messages({ todos: model })).toEqual([
      expect.stringContaining(' of todos: add .index("column", "id"); its lists read all rows'),
    ]);
    expect(messages({ todos: model.index("column", "id") })).toEqual([]);
  });

  test("counts no index with a column along which lists cannot walk, or that the role does not see", () => {
    const state = t.enum(["a", ..."bcdefghij"]);
    const columns = { owner: t.uuid(), team: t.ref("teams").only("b"), state };
    const model = t
      .model(columns)
      .index("owner", "state")
      .index("owner", "team")
      .allow("a", { read: { owner: "me", state: "a" } })
      .allow("b", { read: { owner: "me", state: "a" } });
    const advice =
      'todos: No index serves the rule "owner is the person and state = a" of todos: add .index("owner", "id"); its lists read all rows of the table';
    const teams = t.model({}).allow("b", { read: true });
    expect(messages({ teams, todos: model })).toEqual([advice]);
    expect(messages({ teams, todos: model.index("owner", "id") })).toEqual([]);
  });

  test("has at most 100 notices", () => {
    const tables = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`t${i}`, {}]));
    const ruled = t.model({}).allow("member", { read: true });
    expect(messages({ ...tables, ruled })).toHaveLength(100);
  });
});
