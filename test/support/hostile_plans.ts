/**
 * Plans that no service sends, but an attacker with a serving login could: of lists, and of groups. The column
 * "kind" is an enum with the value "c", and "name" a text. The only value is the highest id.
 *
 * @module
 */

export type HostilePlan = readonly [name: string, plan: object | string];

const BY_ID = { sort: [["id", false, false]] };
const PLAN = {
  limit: 10,
  offset: 0,
  where: ["lte", "id", 1],
  parts: [BY_ID],
  byId: "asc",
  cursor: "id.asc",
  order: ["id"],
  picked: [],
};

/** What is no condition on a row that the caller may see, or leads around it. */
const CONDITIONS: readonly (readonly [name: string, condition: unknown])[] = [
  ["true", true],
  ["null", null],
  ["a text", "true"],
  ["empty", []],
  ["an empty or", ["or"]],
  ["an or with everything", ["or", ["lte", "id", 1], ["not", ["lte", "id", 1]], ["null", "id"]]],
  ["an or of nothing", ["or", ["and"]]],
  ["SQL", ["true) or (true", 1, 1]],
  ["SQL in an or", ["or", ["eq", "id", 1], ["lte", "id) or (true", 1]]],
  ["an unknown operator", ["<> all", 1, 1]],
  ["not of nothing", ["not"]],
  ["of not", ["not", ["not", ["not", ["gte", "id", 1]]]]],
  ["of a number", ["eq", 1, 1]],
  ["of the app", ["eq", "app_id", 1]],
  ["of another column", ["eq", "other", 1]],
  ["of another term", ["eq", "name.sent", 1]],
  ["of a value as a text", ["lte", "id", "1"]],
  ["of a column that is SQL", ["eq", 'id") or (true', 1]],
  ["of a column that is a list", ["eq", ["id"], 1]],
  ["of no column", ["eq", null, 1]],
  ["of value 0", ["neq", "id", 0]],
  ["of value 99", ["neq", "id", 99]],
  ["of a value that is SQL", ["eq", "id", '1])::uuid or true) or ("$t"."id" = ($3[1']],
  ["of a value of another kind", ["eq", "kind", 1]],
  ["of an enum's first value", ["first", "kind"]],
  ["of a text's first value", ["first", "name"]],
  ["a list without an end", ["in", "id", 1, null]],
  ["a list of far values", ["in", "id", -5, 1_000_000]],
  ["a list of SQL", ["in", "id", '1:1])::uuid[]) or true or "$t"."id" = any (($3[1', 1]],
  ["a pattern of an id", ["like", "id", 1]],
  ["a regular expression", ["ilike", "name", 1]],
  ["a row", ["row", "lte", ["id", "id"], [1, 1]]],
  ["a row of nothing", ["row", "lte", [], []]],
  ["a row without values", ["row", "lte", ["id", "name"], [1]]],
  ["a row of more values", ["row", "lte", ["id"], [1, 1]]],
  ["a row of another column", ["row", "lte", ["other"], [1]]],
  ["a row of SQL", ["row", "lte", ["id) or (true"], [1]]],
  [
    "a row of values of SQL",
    ["row", "lte", ["id"], ['1])::uuid) or true or ("$t"."id") = (($3[1']],
  ],
  ["a row of an unknown operator", ["row", "or", ["id"], [1]]],
  ["a row of texts", ["row", "lte", "id", "1"]],
  ["nulls of SQL", ["null", "id is null) or (true"]],
  ["nulls of another column", ["null", "other"]],
  ["a set of no ids", ["set", "id", 1]],
  ["a set of value 99", ["set", "id", 99]],
  [
    "a set of SQL",
    ["set", "id", `1], ',')::uuid[]) or true or "$t"."id" = any (string_to_array($3[1`],
  ],
  ["a set of texts", ["set", "kind", 1]],
  ["the part of a text", ["gte", "name.start", 1]],
  ["the part of an id", ["gte", "id.start", 1]],
];

const PLANS: readonly HostilePlan[] = [
  ["as it should be", PLAN],
  ["without anything", {}],
  ["that is null", "null"],
  ["that is a list", []],
  ["that is a text", '"x"'],
  ...CONDITIONS.flatMap(([name, where]): HostilePlan[] => [
    [`whose condition is ${name}`, { ...PLAN, where }],
    [`with a part whose condition is ${name}`, { ...PLAN, parts: [{ ...BY_ID, where }] }],
  ]),
  ["without parts", { ...PLAN, parts: undefined }],
  ["with no part", { ...PLAN, parts: [] }],
  ["whose parts are null", { ...PLAN, parts: null }],
  ["whose parts are SQL", { ...PLAN, parts: ["true) union all (select id from data.notes"] }],
  ["whose part is empty", { ...PLAN, parts: [{}] }],
  ["that is sorted by another column", { ...PLAN, parts: [{ sort: [["other", false]] }] }],
  ["that is sorted by SQL", { ...PLAN, parts: [{ sort: [["id", "desc, (select 1)"]] }] }],
  ["that is sorted by SQL as a column", { ...PLAN, parts: [{ sort: [["id desc, (select 1)"]] }] }],
  ["that is sorted by nothing", { ...PLAN, parts: [{ sort: [] }] }],
  ["that is sorted by a text", { ...PLAN, parts: [{ sort: "id" }] }],
  ["that is sorted by the part of an id", { ...PLAN, parts: [{ sort: [["id.start", false]] }] }],
  ["by the id in SQL", { ...PLAN, byId: "asc, (select 1)" }],
  ["with a negative limit", { ...PLAN, limit: -1 }],
  ["with a limit of all", { ...PLAN, limit: null }],
  ["with a limit of SQL", { ...PLAN, limit: "1 offset 0" }],
  ["with a large limit", { ...PLAN, limit: 2_147_483_000 }],
  ["with a negative offset", { ...PLAN, offset: -5 }],
  ["with an offset of SQL", { ...PLAN, offset: "0) or (true" }],
  ["that counts SQL", { ...PLAN, counted: "1) from data.notes --" }],
  ["that counts nothing", { ...PLAN, counted: null }],
  ["that counts all", { ...PLAN, counted: 2_147_483_646 }],
  ["that picks another column", { ...PLAN, picked: ["other"] }],
  ["that picks SQL", { ...PLAN, picked: ["id or true"] }],
  ["with a cursor of quotes", { ...PLAN, limit: 0, cursor: `'"\\; drop` }],
  ["whose next is at another column", { ...PLAN, limit: 0, order: ["other"] }],
];

/** The plans of lists and of groups; `of`: the name of a set, whose rows are sets of ids. */
export function makeHostilePlans(of: string): Record<"lists" | "groups", readonly HostilePlan[]> {
  const SET = { ...PLAN, order: [] };
  const ALL_ONES = ["ffffffff-ffff-ffff-ffff-ffffffffffff"];
  const withSets = (...sets: unknown[]) => ({ ...PLAN, where: ["set", "id", 1], sets });
  const set = (part: object) => ({ at: 1, of, path: "ref", plan: SET, values: ALL_ONES, ...part });
  const sets: HostilePlan[] = [
    ["whose set is as it should be", withSets(set({}))],
    ["whose set has a path of SQL", withSets(set({ path: "') or true --" }))],
    ["whose sets are SQL", { ...PLAN, sets: "'; drop table data.notes" }],
    ["whose sets are null", { ...PLAN, sets: null }],
    ["whose set is null", withSets(null)],
    ["whose set has no plan", withSets(set({ plan: null }))],
    ["whose set is of SQL", withSets(set({ of: `x"() || (select 1) --` }))],
    ["whose set is of another function", withSets(set({ of: `${of}_list` }))],
    ["whose set is of nothing", withSets(set({ of: null }))],
    ["whose set is at 0", withSets(set({ at: 0 }))],
    ["whose set is far away", withSets(set({ at: 1_000_000_000 }))],
    ["whose set is nowhere", withSets(set({ at: null }))],
    ["whose set has no values", withSets(set({ values: [] }))],
    ["whose set has values of SQL", withSets(set({ values: ["'; drop table data.notes"] }))],
    ["whose set is in itself", withSets(set({ plan: { ...SET, sets: [set({})] } }))],
  ];

  /** Each plan of a list is also one of groups, by name. */
  const GROUPS = { ...PLAN, by: ["name"] };
  const groups: HostilePlan[] = [
    ["as it should be", GROUPS],
    ...[...PLANS, ...sets].map(
      ([name, plan]): HostilePlan => [
        name,
        typeof plan === "string" || Array.isArray(plan) ? plan : { ...GROUPS, ...plan },
      ],
    ),
    ["by another column", { ...GROUPS, by: ["other"] }],
    ["by a number", { ...GROUPS, by: [0] }],
    ["by SQL", { ...GROUPS, by: ["name) or (name"] }],
    ["by SQL in a list", { ...GROUPS, by: ["name},{name"] }],
    ["by nothing", { ...GROUPS, by: null }],
    ["by a part of a text", { ...GROUPS, by: ["name.start"] }],
    ["with the sum of a text", { ...GROUPS, sum: ["name"] }],
    ["with the lowest of another column", { ...GROUPS, min: ["other"] }],
    ["with an average of SQL", { ...GROUPS, avg: ["name; drop table data.notes"] }],
    ["with values of no list", { ...GROUPS, max: { name: 1 }, by: "name" }],
  ];
  return { lists: [...PLANS, ...sets], groups };
}
