/** Comparisons of lists with related rows and of conditions on referenced rows: the rules of the other table apply. @module */
import type { Json } from "../../../src/schema/mod.ts";
import { matches } from "../../../src/sdk/matches.ts";
import { toConditionParameters } from "../../../src/sdk/query_text.ts";
import { pick, toKinds } from "../query_fuzz.ts";
import { checkSame, checkStatus, drawTurn, type Turn, toTurn, visibleOf } from "./play.ts";
import { visibleTable } from "./play_queries.ts";
import {
  actionsOf,
  isHidden,
  type ModelTable,
  project,
  type Row,
  type Sight,
  tableOf,
  visibleColumns,
} from "./rules.ts";
import { callAs, pathOf, type World } from "./world.ts";
import { FORBIDDEN } from "./writes.ts";

type Relation = {
  readonly name: string;
  readonly target: ModelTable;
  readonly via: string;
  /** The limit of a list of children. */
  readonly limit: number | undefined;
  readonly columns: readonly string[];
};

/** Lists rows with the rows of their references, or with rows that reference them. */
export async function playRelated(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const relations = drawRelations(turn);
  const [relation] = relations;
  if (relation === undefined) return;
  const { name, target, via, limit, columns } = relation;
  const isOnly = target.columns.filter((column) => column.table === table.name).length === 1;
  const by = limit === undefined || isOnly ? "" : `!${via}`;
  const parameters = new URLSearchParams({ select: `id,${name}${by}(${columns.join(",")})` });
  if (limit !== undefined) parameters.append(`${name}.limit`, `${limit}`);
  const path = `${pathOf(table.name)}?${parameters}`;
  const response = await callAs(world, caller, path);
  const isHiddenVia = isHiddenReference(sight, relation, table);
  const isRejected = actionsOf(sight, table).read === undefined;
  const lacksTarget = actionsOf(sight, target).read === undefined;
  // A table that the role does not read is as one that the app does not have.
  const reasons = [
    ...(isRejected ? [FORBIDDEN] : []),
    ...(isHiddenVia || lacksTarget ? [400] : []),
  ];
  if (!checkStatus(turn, path, { response, reasons, ok: 200 })) return;
  const wanted = visibleOf(sight, table).map((row) => ({
    id: row.id,
    [name]: toMember(sight, row, relation),
  }));
  checkSame(turn, path, (response.json as { rows: Json[] }).rows, wanted);
}

/** A reference that the role does not see is no relation, from either side. */
function isHiddenReference(
  sight: Sight,
  { via, target, limit }: Relation,
  table: ModelTable,
): boolean {
  const holder = limit === undefined ? table : target;
  const column = holder.columns.find(({ name }) => name === via);
  return column !== undefined && isHidden(sight, column);
}

function drawRelations(turn: Turn): Relation[] {
  const { world, table, sight } = turn;
  const { random } = world;
  const drawColumns = (target: ModelTable) => {
    const names = visibleColumns(sight, target).map(({ name }) => name);
    return ["id", ...names.filter(() => random(2) === 0)];
  };
  const parents = table.columns
    .filter(({ kind }) => kind === "ref")
    .map(({ name, table: of = "" }): Relation => {
      const target = tableOf(sight, of);
      return { name, target, via: name, limit: undefined, columns: drawColumns(target) };
    });
  const children = world.tables.flatMap((target) =>
    target.columns
      .filter((column) => column.table === table.name)
      .map(({ name: via }): Relation => {
        return { name: target.name, target, via, limit: random(4), columns: drawColumns(target) };
      }),
  );
  const all = [...parents, ...children];
  return all.length === 0 ? [] : [pick(random, all)];
}

function toMember(sight: Sight, row: Row, { target, via, limit, columns }: Relation): Json {
  const seen = visibleOf(sight, target).map((each) => project(sight, target, each));
  const toColumns = (each: Row): Json =>
    Object.fromEntries(columns.map((column) => [column, each[column] ?? null]));
  if (limit === undefined) {
    const found = seen.find(({ id }) => id === row[via]);
    return found === undefined ? null : toColumns(found);
  }
  const all = seen.filter((each) => each[via] === row.id);
  return { rows: all.slice(0, limit).map(toColumns), hasMore: all.length > limit };
}

/** Conditions on referenced rows: one that the person does not see is as none. */
export async function playReferenced(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const references = table.columns.filter(({ kind }) => kind === "ref");
  const reference = references.length === 0 ? undefined : pick(world.random, references);
  if (reference === undefined) return;
  const target = tableOf(sight, reference.table ?? "");
  const inner = toTurn(world, caller, target);
  const visible = visibleTable(inner);
  const all = target.columns.filter(({ kind }) => !["json", "ref"].includes(kind));
  const column = pick(world.random, all);
  const value =
    inner.rows.length === 0 ? null : (pick(world.random, inner.rows)[column.name] ?? null);
  const test = { [reference.name]: { [column.name]: value } };
  const where = world.random(3) === 0 ? { not: test } : test;
  const parameters = new URLSearchParams(toConditionParameters(where));
  const path = `${pathOf(table.name)}?${parameters}`;
  const response = await callAs(world, caller, path);
  const [lacks, lacksTarget] = [table, target].map(
    (each) => actionsOf(sight, each).read === undefined,
  );
  const isUnknown = lacksTarget || isHidden(sight, reference) || isHidden(sight, column);
  const reasons = [...(lacks ? [FORBIDDEN] : []), ...(isUnknown ? [400] : [])];
  if (!checkStatus(turn, path, { response, reasons, ok: 200 })) return;
  const seen = new Map(visibleOf(sight, target).map((row) => [row.id, row]));
  const wanted = visibleOf(sight, table).filter((row) => {
    const referenced = seen.get(`${row[reference.name]}`) ?? null;
    const subject = { ...row, [reference.name]: referenced };
    const tables = { [target.name]: toKinds(visible) };
    return matches(subject as object, where, toKinds(visibleTable(turn)), tables);
  });
  const { rows } = response.json as { rows: Row[] };
  checkSame(
    turn,
    path,
    rows.map(({ id }) => id),
    wanted.map(({ id }) => id),
  );
}
