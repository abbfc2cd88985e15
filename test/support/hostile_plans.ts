/**
 * Plans that no service sends, but an attacker with a serving login could: of lists, and of groups. Column 1 is the id, column 2 an enum
 * with the value "c", and column 3 a text. The only value is the highest id.
 *
 * @module
 */

export type HostilePlan = readonly [name: string, plan: object | string];

const BY_ID = { sort: [[1, false, false]] };
const PLAN = {
  limit: 10,
  offset: 0,
  where: ["lte", 1, 1],
  parts: [BY_ID],
  byId: "asc",
  cursor: "id.asc",
  order: [1],
  picked: [],
};

/** What is no condition on a row that the caller may see, or leads around it. */
const CONDITIONS: readonly (readonly [name: string, condition: unknown])[] = [
  ["true", true],
  ["null", null],
  ["a text", "true"],
  ["empty", []],
  ["an empty or", ["or"]],
  ["an or with everything", ["or", ["lte", 1, 1], ["not", ["lte", 1, 1]], ["null", 1]]],
  ["an or of nothing", ["or", ["and"]]],
  ["SQL", ["true) or (true", 1, 1]],
  ["SQL in an or", ["or", ["eq", 1, 1], ["lte", "1) or (true", 1]]],
  ["an unknown operator", ["<> all", 1, 1]],
  ["not of nothing", ["not"]],
  ["of not", ["not", ["not", ["not", ["gte", 1, 1]]]]],
  ["of column 0", ["eq", 0, 1]],
  ["of column -1", ["eq", -1, 1]],
  ["of column 99", ["eq", 99, 1]],
  ["of half a column", ["eq", 1.5, 1]],
  ["of a column as a text", ["lte", "1", "1"]],
  ["of a column that is SQL", ["eq", "1) or (true", 1]],
  ["of a column that is a list", ["eq", [1], 1]],
  ["of no column", ["eq", null, 1]],
  ["of value 0", ["neq", 1, 0]],
  ["of value 99", ["neq", 1, 99]],
  ["of a value that is SQL", ["eq", 1, '1])::uuid or true) or ("$t"."id" = ($3[1']],
  ["of a value of another kind", ["eq", 2, 1]],
  ["of an enum's first value", ["first", 2]],
  ["of a text's first value", ["first", 3]],
  ["a list without an end", ["in", 1, 1, null]],
  ["a list of far values", ["in", 1, -5, 1_000_000]],
  ["a list of SQL", ["in", 1, '1:1])::uuid[]) or true or "$t"."id" = any (($3[1', 1]],
  ["a pattern of an id", ["like", 1, 1]],
  ["a regular expression", ["ilike", 3, 1]],
  ["a row", ["row", "lte", [1, 1], [1, 1]]],
  ["a row of nothing", ["row", "lte", [], []]],
  ["a row without values", ["row", "lte", [1, 3], [1]]],
  ["a row of more values", ["row", "lte", [1], [1, 1]]],
  ["a row of column 99", ["row", "lte", [99], [1]]],
  ["a row of SQL", ["row", "lte", ["1) or (true"], [1]]],
  ["a row of values of SQL", ["row", "lte", [1], ['1])::uuid) or true or ("$t"."id") = (($3[1']]],
  ["a row of an unknown operator", ["row", "or", [1], [1]]],
  ["a row of texts", ["row", "lte", "1", "1"]],
  ["nulls of SQL", ["null", "1 is null) or (true"]],
  ["nulls of column 99", ["null", 99]],
  ["a set of no ids", ["set", 1, 1]],
  ["a set of value 99", ["set", 1, 99]],
  [
    "a set of SQL",
    ["set", 1, `1], ',')::uuid[]) or true or "$t"."id" = any (string_to_array($3[1`],
  ],
  ["a set of texts", ["set", 2, 1]],
  ["the part of a text", ["gte", 6, 1]],
  ["the part of an id", ["gte", 4, 1]],
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
  ["that is sorted by column 99", { ...PLAN, parts: [{ sort: [[99, false]] }] }],
  ["that is sorted by SQL", { ...PLAN, parts: [{ sort: [["1", "desc, (select 1)"]] }] }],
  ["that is sorted by SQL as a column", { ...PLAN, parts: [{ sort: [["1 desc, (select 1)"]] }] }],
  ["that is sorted by nothing", { ...PLAN, parts: [{ sort: [] }] }],
  ["that is sorted by a text", { ...PLAN, parts: [{ sort: "1" }] }],
  ["that is sorted by the part of an id", { ...PLAN, parts: [{ sort: [[4, false]] }] }],
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
  ["that picks column 99", { ...PLAN, picked: [99] }],
  ["that picks SQL", { ...PLAN, picked: ["1 or true"] }],
  ["with a cursor of quotes", { ...PLAN, limit: 0, cursor: `'"\\; drop` }],
  ["whose next is at column 99", { ...PLAN, limit: 0, order: [99] }],
];

/** The plans of lists and of groups; `of`: the name of a set, whose rows are sets of ids. */
export function makeHostilePlans(of: string): Record<"lists" | "groups", readonly HostilePlan[]> {
  const SET = { ...PLAN, order: [] };
  const ALL_ONES = ["ffffffff-ffff-ffff-ffff-ffffffffffff"];
  const withSets = (...sets: unknown[]) => ({ ...PLAN, where: ["set", 1, 1], sets });
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

  /** Each plan of a list is also one of groups, by title. */
  const GROUPS = { ...PLAN, by: [3] };
  const groups: HostilePlan[] = [
    ["as it should be", GROUPS],
    ...[...PLANS, ...sets].map(
      ([name, plan]): HostilePlan => [
        name,
        typeof plan === "string" || Array.isArray(plan) ? plan : { ...GROUPS, ...plan },
      ],
    ),
    ["by column 9", { ...GROUPS, by: [9] }],
    ["by column 0", { ...GROUPS, by: [0] }],
    ["by SQL", { ...GROUPS, by: ["1) or (1"] }],
    ["by SQL in a list", { ...GROUPS, by: ["1},{1"] }],
    ["by nothing", { ...GROUPS, by: null }],
    ["by a part of a text", { ...GROUPS, by: [6] }],
    ["with the sum of a text", { ...GROUPS, sum: [3] }],
    ["with the lowest of column 9", { ...GROUPS, min: [9] }],
    ["with an average of SQL", { ...GROUPS, avg: ["1; drop table data.notes"] }],
    ["with values of no list", { ...GROUPS, max: { title: 1 }, by: 1 }],
  ];
  return { lists: [...PLANS, ...sets], groups };
}
