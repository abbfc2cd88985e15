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
  const NO_ACCESS = ["team_members: no access", "teams: no access"];
  const READ_TEAMS = "teams: read all rows; never creates, changes or deletes";
  const ALL = "read all rows; create rows; change all rows; delete all rows";
  const RIGHTS: Readonly<Record<string, readonly string[]>> = {
    member: [
      "team_members: read rows where person is the person; never creates, changes or deletes",
      READ_TEAMS,
      "todos: read rows where owner is the person or team of the person's team_members; create rows where status = open; change rows where owner is the person and status = open, to rows where owner is the person and status one of open, done; delete rows where owner is the person and status = open; never sees cost; never sets approved_by, owner",
    ],
    viewer: [
      ...NO_ACCESS,
      "todos: read rows where status one of done, approved; never creates, changes or deletes; never sees cost",
    ],
    lead: [
      "team_members: no access",
      READ_TEAMS,
      "todos: read all rows; create rows; change all rows; never deletes; never sets owner",
    ],
    admin: [`team_members: ${ALL}`, `teams: ${ALL}`, "todos: no access"],
    constructor: [...NO_ACCESS, "todos: no access"],
  };
  test.each(Object.entries(RIGHTS))(
    "lists the rights of %s in the schema of the design",
    (role, rights) => expect(rightsOf(role)).toEqual([...rights]),
  );

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
  const READ: Readonly<Record<string, object | readonly object[]>> = {
    "rows where owner is the person and urgent = true, or where title is null": [
      { owner: "me", urgent: true },
      { title: null },
    ],
    "rows where title = me": { title: "me" },
    "rows where id is the person": { id: "me" },
    'rows where title one of "", "it\\"s", "x\\n- drop", "\\u202ey"': {
      title: ["x\n- drop", "\u202Ey", 'it"s', ""],
    },
    "rows where rank one of -1, 9, 10": { rank: [10, -1, 9] },
    'rows where status one of "b c", a': { status: ["a", "b c"] },
    "rows where team is readable": { team: { readable: true } },
    'rows where team of the person\'s team_members with level one of "x y", z': {
      team: { memberOf: "team_members", where: { level: ["x y", "z"] } },
    },
  };
  test.each(Object.entries(READ))("describes %s", (text, read_) => {
    const model = all.allow("a", { read: read_ as never });
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
  const both = base.allow(["member", "lead"], { read: true });
  const CHANGES: Readonly<
    Record<string, readonly [before: TableSources, after: TableSources, ...lines: string[]]>
  > = {
    nothing: [{ todos: base }, { todos: base }],
    "a changed rule": [
      { todos: base.allow("member", { read: true, update: { owner: "me" } }) },
      {
        todos: base.allow("member", {
          read: true,
          update: { owner: "me", status: ["open", "done"] },
        }),
      },
      "~ member can change todos where owner is the person and status one of open, done (was: where owner is the person)",
    ],
    "roles with the same new right": [
      { todos: base },
      { todos: base.allow(["member", "lead"], { read: true, create: true }) },
      ...["+ lead, member can read todos", "+ lead, member can create todos"],
    ],
    "a removed role": [
      { todos: both },
      { todos: base.allow("lead", { read: true }) },
      "- member can no longer read todos (was: all rows)",
    ],
    "a rule that becomes wider": [
      { todos: base.allow("member", { read: { owner: "me" } }) },
      { todos: base.allow("member", { read: true }) },
      "~ member can read todos (was: where owner is the person)",
    ],
    columns: [
      { todos: both },
      {
        todos: t
          .model({
            owner: t.uuid().required().owner(),
            status: t.enum(["open", "done"]).setBy("lead"),
            cost: t.decimal().only("lead", "member"),
          })
          .allow(["member", "lead"], { read: true }),
      },
      "~ todos.cost: only lead and member can read or set it (was: no restriction)",
      "~ todos.owner: is the person who creates the row (was: no restriction)",
      "~ todos.status: only lead can set it (was: no restriction)",
    ],
    "a new and a removed table": [
      { teams: t.model({}).allow("lead", { read: true }) },
      { todos: t.model({ owner: t.uuid().owner() }).allow("lead", { read: { owner: "me" } }) },
      "- lead can no longer read teams (was: all rows)",
      "+ lead can read todos where owner is the person",
      "+ todos.owner: is the person who creates the row",
    ],
  };
  test.each(Object.entries(CHANGES))("describes %s", (_, [before, after, ...lines]) => {
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

  test("says that no index serves a rule on a long text", () => {
    const column = t.string().index();
    const model = t.model({ column }).allow("a", { read: { column: ["a", "b".repeat(64)] } });
    expect(messages({ todos: model })).toEqual([
      expect.stringMatching(
        /^todos: No index can serve the rule "column .*" of todos; its lists read all rows/,
      ),
    ]);
  });

  test.each([
    ["an enum", t.enum(["a", "b"]), "a"],
    ["values of an enum", t.enum(["a", ..."bcdefghij"]), ["a", "b"]],
    ["a number", t.number(), 1],
    ["a decimal", t.decimal(), "1"],
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

  test("counts no index with a column that the role does not see", () => {
    const state = t.enum(["a", "b"]);
    const columns = { owner: t.uuid(), team: t.ref("teams").only("b"), state };
    const model = t
      .model(columns)
      .index("owner", "team")
      .allow("a", { read: { owner: "me", state: "a" } })
      .allow("b", { read: { owner: "me", state: "a" } });
    const advice =
      'todos: No index serves the rule "owner is the person and state = a" of todos: add .index("owner", "state", "id"); its lists read all rows of the table';
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
