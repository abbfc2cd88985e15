/**
 * Plans that no service sends, but an attacker with a serving login could: of lists, and of groups. Column 1 is the id, column 2 an enum
 * with the value "c", and column 3 a text.
 *
 * @module
 */

export type HostilePlan = readonly [name: string, plan: object | string];

const PLAN = {
  limit: 10,
  offset: 0,
  visits: 100,
  work: 1_000_000,
  cursor: "id.asc",
  order: [1],
  picked: [],
  walk: [1],
  isDescending: false,
  stop: { op: "lte", values: [1] },
};
const TEXT = { filter: ["neq", 2, 1], reads: [[2, 1, 100]] };

/** A plan whose walk visits the rows with a value of an enum. */
const branch = (...tests: unknown[]) => ({ ...PLAN, branches: [["notes__pkey", ...tests]] });

const PLANS: readonly HostilePlan[] = [
  ["as it should be", PLAN],
  ["without anything", {}],
  ["that is null", "null"],
  ["that is a list", []],
  ["that is a text", '"x"'],
  ["that walks along no column", { ...PLAN, walk: [] }],
  ["that walks along column 0", { ...PLAN, walk: [0] }],
  ["that walks along column 99", { ...PLAN, walk: [99] }],
  ["that walks along a text", { ...PLAN, walk: ["id; drop table data.notes"] }],
  ["that walks along null", { ...PLAN, walk: [null] }],
  ["that walks along lists", { ...PLAN, walk: [[1], [2]] }],
  ["without an end", { ...PLAN, stop: undefined }],
  ["whose end has no value", { ...PLAN, stop: { op: "lte", values: [] } }],
  ["whose end has value 99", { ...PLAN, stop: { op: "lte", values: [99] } }],
  ["whose end has an unknown operator", { ...PLAN, stop: { op: "<> all", values: [1] } }],
  ["with more ends than columns", { ...PLAN, stop: { op: "lte", values: [1, 1, 1] } }],
  ["whose filter is true", { ...PLAN, filter: true }],
  ["whose filter is empty", { ...PLAN, filter: [] }],
  ["whose filter is an empty or", { ...PLAN, filter: ["or"] }],
  ["whose filter is SQL", { ...PLAN, filter: ["true) or (true", 1, 1] }],
  ["whose filter names SQL as a column", { ...PLAN, filter: ["eq", "1) or (true", 1] }],
  ["whose filter names column -1", { ...PLAN, filter: ["eq", -1, 1] }],
  ["whose filter names value 0", { ...PLAN, filter: ["neq", 1, 0] }],
  ["whose filter is not of nothing", { ...PLAN, filter: ["not"] }],
  ["whose list has no end", { ...PLAN, filter: ["in", 1, 1, null] }],
  ["that is sorted by column 99", { ...PLAN, sort: [[99, false]] }],
  ["that is sorted by SQL", { ...PLAN, sort: [["1", "desc, (select 1)"]] }],
  ["that is sorted by nothing", { ...PLAN, sort: [] }],
  ["whose cursor is at column 99", { ...PLAN, sort: [[1, false]], after: ["gte", 99, 1] }],
  ["whose index is another table's", { ...PLAN, index: "pg_class" }],
  ["whose index is SQL", { ...PLAN, index: "x' or true --" }],
  ["with a negative limit", { ...PLAN, limit: -1 }],
  ["with a limit of all", { ...PLAN, limit: null }],
  ["with no visits", { ...PLAN, visits: 0 }],
  ["with many visits", { ...PLAN, visits: 2_147_483_647, limit: 2_147_483_000 }],
  ["with a negative offset", { ...PLAN, offset: -5 }],
  ["that picks column 99", { ...PLAN, picked: [99] }],
  ["that picks SQL", { ...PLAN, picked: ["1 or true"] }],
  ["with a cursor of quotes", { ...PLAN, limit: 0, cursor: `'"\\; drop` }],
  ["whose next is at column 99", { ...PLAN, limit: 0, order: [99] }],
  ["whose texts are SQL", { ...PLAN, passed: ["2 as x, null"], text: TEXT }],
  ["whose texts are not passed", { ...PLAN, text: TEXT }],
  ["whose texts are nothing", { ...PLAN, passed: [], text: { ...TEXT, reads: [] } }],
  ["whose text is read by SQL", { ...PLAN, text: { ...TEXT, reads: [[2, "1) or (1", 1]] } }],
  ["whose condition on texts is true", { ...PLAN, text: { ...TEXT, filter: true } }],
  ["without a limit of work", { ...PLAN, work: null, text: TEXT }],
  ["whose values are everything", { ...PLAN, in: [[1, 99]] }],
  ["whose values are SQL", { ...PLAN, in: [["1] or $2[1", 1]] }],
  ["whose values are nothing", { ...PLAN, in: [] }],
  [
    "whose values are those of more columns",
    {
      ...PLAN,
      in: [
        [1, 1],
        [1, 1],
      ],
    },
  ],
  ["that walks along the parts of no text", { ...PLAN, walk: [4, 7, 1], nulls: "last" }],
  ["that walks along a text's parts", { ...PLAN, walk: [6, 9, 1], nulls: "only", stop: undefined }],
  ["with unknown nulls", { ...PLAN, nulls: "') or true --" }],
  ["that passes column 99", { ...PLAN, passed: [99], text: TEXT }],
  ["that is sorted by a part that is not passed", { ...PLAN, sort: [[6, false]] }],
  ["that is sorted by the part of an id", { ...PLAN, passed: [1], sort: [[4, false]] }],
  ["whose label is quoted", branch(["is", 3, "a'b"])],
  ["whose label is SQL", branch(["is", 3, "c'::data.notes__kind__enum or true --"])],
  ["whose label is no text", branch(["is", 3, ["c"]])],
  ["whose label is of column 99", branch(["is", 99, "c"])],
  ["whose label is of a text", branch(["is", 2, "mine"])],
  ["whose label is of SQL", branch(["is", "3) or (true", "c"])],
  ["whose test of an enum is SQL", branch(["is null) or (true", 3])],
  ["whose test of an enum is nothing", branch(null)],
  ["whose branch has no test", branch()],
  ["whose branch is SQL", { ...PLAN, branches: [["x' or true --", ["null", 3]]] }],
  ["whose branches are text", { ...PLAN, branches: "notes__pkey" }],
  ["whose branches are nothing", { ...PLAN, branches: [] }],
];

/** Plans that would miss rows fail. */
export const INCOMPLETE = [
  ["whose branches lack a value", { ...branch(["is", 3, "c"]), covered: 3 }, "no such index"],
  ["whose label is unknown", branch(["is", 3, "d"]), "no such condition"],
] as const;
/** The plans of lists and of groups; `call`: the query function, which sets of ids call. */
export function makeHostilePlans(call: string): Record<"lists" | "groups", readonly HostilePlan[]> {
  const SET = { ...PLAN, set: "ref", order: [] };
  const ALL_ONES = ["ffffffff-ffff-ffff-ffff-ffffffffffff"];
  const withSets = (...sets: unknown[]) => ({ ...PLAN, filter: ["set", 1, 1], sets });
  const set = (part: object) => ({ at: 1, call, plan: SET, values: ALL_ONES, ...part });
  const sets: HostilePlan[] = [
    ["whose set is as it should be", withSets(set({}))],
    ["that is a set", SET],
    ["that is a set of SQL", { ...SET, set: "') or true --" }],
    ["whose sets are SQL", { ...PLAN, sets: "'; drop table data.notes" }],
    ["whose sets are null", { ...PLAN, sets: null }],
    ["whose set is null", withSets(null)],
    ["whose set is a page", withSets(set({ plan: PLAN }))],
    ["whose set has no plan", withSets(set({ plan: null }))],
    ["whose set calls SQL", withSets(set({ call: `x"() || (select 1) --_find` }))],
    ["whose set calls another function", withSets(set({ call: call.replace("_find", "_list") }))],
    ["whose set is at 0", withSets(set({ at: 0 }))],
    ["whose set is far away", withSets(set({ at: 1_000_000_000 }))],
    ["whose set is nowhere", withSets(set({ at: null }))],
    ["whose set has no values", withSets(set({ values: [] }))],
    ["whose set has values of SQL", withSets(set({ values: ["'; drop table data.notes"] }))],
    ["whose set is in itself", withSets(set({ plan: { ...SET, sets: [set({})] } }))],
    ["whose condition is in no set", { ...PLAN, filter: ["set", 1, 99] }],
    ["whose condition is in a set of SQL", { ...PLAN, filter: ["set", 1, "1], ',')) or ($2[1"] }],
    ["whose condition is in a set of texts", { ...PLAN, filter: ["set", 2, 1] }],
    ["whose walk is by a set", { ...withSets(set({})), in: [[1]] }],
    ["whose walk is by a set of SQL", { ...PLAN, in: [["1], ',')) or ($2[1"]] }],
    ["that is large", { ...withSets(set({})), in: [[1]], most: 0, large: PLAN }],
    ["that is large and nothing", { ...withSets(set({})), in: [[1]], most: 0, large: null }],
    ["that is large by SQL", { ...withSets(set({})), in: [["1)"]], most: "1)", large: [] }],
  ];

  /** Each plan of a list is also one of groups, by title. */
  const GROUPS = { ...PLAN, grouped: [3], passed: [3], by: [3], text: { reads: [[3, 2, 1024]] } };
  const groups: HostilePlan[] = [
    ["as it should be", GROUPS],
    ...[...PLANS, ...sets].map(
      ([name, plan]): HostilePlan => [
        name,
        typeof plan === "string" || Array.isArray(plan) ? plan : { ...GROUPS, ...plan },
      ],
    ),
    ["without a limit of visits", { ...GROUPS, visits: null }],
    ["by column 9", { ...GROUPS, by: [9] }],
    ["by SQL", { ...GROUPS, by: ["1) or (1"] }],
    ["of column 99", { ...GROUPS, grouped: [99], passed: [99] }],
    ["of SQL", { ...GROUPS, grouped: ["1 as x, (select 1)"] }],
    ["of columns that are not passed", { ...GROUPS, passed: [] }],
    ["with the sum of a text", { ...GROUPS, sum: [3] }],
    ["with the lowest of column 9", { ...GROUPS, min: [9] }],
    ["with an average of SQL", { ...GROUPS, avg: ["1; drop table data.notes"] }],
    ["with values of no list", { ...GROUPS, max: { title: 1 }, by: 1, grouped: "x" }],
  ];
  return { lists: [...PLANS, ...sets], groups };
}
