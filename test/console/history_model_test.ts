/** Random writes and restores against a naive model: what the history records, and what restoring from it leaves behind. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import {
  type Change,
  COLUMNS,
  type Rows,
  readChanges,
  readItems,
  SCHEMA,
  VALUES,
  type Values,
} from "../support/history_model.ts";
import { makePerson, readHidden, signInAs, visit } from "../support/people.ts";
import { makeRandom } from "../support/random.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const service = await share(openTestService({ service: { previews: ["filters", "history"] } }));
const app = await service.makeApp(SCHEMA);
await setAppSwitch(service.service, app.slug, ["history", true]);
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const SEED = 7;
const ITEMS = "/v1/data/db/items";
const OWNERS = "/v1/data/db/owners";

test("records each change of a row once, with the values before, and restores exactly them", async () => {
  const random = makeRandom(SEED);
  const pick = <Value>(values: readonly Value[]): Value => {
    const value = values[random(values.length)];
    if (value === undefined) throw new Error("No value");
    return value;
  };
  const counts: Record<string, number> = {};
  const owners: string[] = [];
  const addOwner = async () => {
    const { json } = await service.call(app, OWNERS, { method: "POST", json: { name: "o" } });
    owners.push((json as { id: string }).id);
  };
  for (let n = 0; n < 4; n++) await addOwner();
  let items: Rows = new Map();
  let last = 0;
  const history: Change[] = [];

  const draw = (chance = 3): Record<string, string> =>
    Object.fromEntries([
      ...Object.entries(VALUES).flatMap(([name, values]) =>
        random(chance) === 0 ? [[name, pick(values)]] : [],
      ),
      ...["owner", "helper"].flatMap((name) =>
        random(4) === 0 ? [[name, pick(["null", ...owners.map((id) => `"${id}"`)])]] : [],
      ),
      ...["above", "beside"].flatMap((name) =>
        random(8) === 0 && items.size > 0 ? [[name, `"${pick([...items.keys()])}"`]] : [],
      ),
      ...(random(12) === 0 ? [["changed_at", '"2020-01-01T00:00:00Z"']] : []),
    ]);
  const toJson = (values: Record<string, string>) =>
    `{${Object.entries(values)
      .map(([name, text]) => `"${name}":${text}`)
      .join(",")}}`;
  const send = async (path: string, method: string, body?: string) => {
    const made = await service.call(app, path, {
      method,
      ...(body !== undefined && { body, headers: { "content-type": "application/json" } }),
    });
    counts[`${method} ${made.status}`] = (counts[`${method} ${made.status}`] ?? 0) + 1;
    if (made.status >= 500) throw new Error(`${method} ${path} ${body}: ${made.text}`);
    return made;
  };

  /** The writes, each with the rows it is about. */
  const WRITES: Record<string, () => Promise<readonly string[]>> = {
    create: async () => {
      await send(ITEMS, "POST", toJson({ title: '"new"', ...draw() }));
      return [];
    },
    group: async () => {
      await Promise.all(
        [1, 2, 3].map(() => send(ITEMS, "POST", toJson({ title: '"new"', ...draw() }))),
      );
      return [];
    },
    update: async () => {
      const id = pick([...items.keys()]);
      await send(`${ITEMS}/${id}`, "PATCH", toJson(draw()));
      return [id];
    },
    list: async () => {
      const ids = [...new Set([1, 2, 3].map(() => pick([...items.keys()])))];
      await send(
        ITEMS,
        "PATCH",
        `[${ids.map((id) => toJson({ id: `"${id}"`, ...draw() })).join(",")}]`,
      );
      return ids;
    },
    where: async () => {
      const rank = pick(["0", "1", "2"]);
      await send(`${ITEMS}?rank=eq.${rank}`, "PATCH", toJson({ rank, ...draw(5), tag: "null" }));
      return [...items].flatMap(([id, values]) => (values["rank"] === rank ? [id] : []));
    },
    upsert: async () => {
      const tags = [...new Set([pick(["one", "two", "three"]), pick(["one", "four"])])];
      const rows = tags.map((tag) => toJson({ title: '"u"', ...draw(), tag: `"${tag}"` }));
      const isOne = random(2) === 0;
      await send(
        `${ITEMS}?onConflict=tag${random(5) === 0 ? "&existing=ignore" : ""}`,
        "POST",
        isOne ? rows[0] : `[${rows.join(",")}]`,
      );
      return [...items].flatMap(([id, { tag }]) => (tag != null && tags.includes(tag) ? [id] : []));
    },
    delete: async () => {
      const id = pick([...items.keys()]);
      await send(`${ITEMS}/${id}`, "DELETE");
      return [id];
    },
    deleteWhere: async () => {
      const rank = pick(["0", "1", "2"]);
      await send(`${ITEMS}?rank=eq.${rank}`, "DELETE");
      return [...items].flatMap(([id, values]) => (values["rank"] === rank ? [id] : []));
    },
    owner: async () => {
      const id = owners.splice(random(owners.length), 1)[0];
      await send(`${OWNERS}/${id}`, "DELETE");
      await addOwner();
      return [];
    },
  };

  /** The changes since the last call are exactly the differences of the rows, and those that the write is not about are caused. */
  async function check(label: string, about: readonly string[]) {
    const now = await readItems({ service, app });
    const changes = (await readChanges({ service, app }, last)).toSorted((a, b) => a.id - b.id);
    last = changes.at(-1)?.id ?? last;
    const ofItems = changes.filter(({ table }) => table === "items");
    for (const [id, before] of items) {
      const after = now.get(id);
      // One request can record that it deleted a row before it records what it cleared in it.
      const own = ofItems
        .filter(({ row }) => row === id)
        .toSorted((a, b) => Number(a.after === null) - Number(b.after === null));
      const isChanged = after === undefined || COLUMNS.some((name) => after[name] !== before[name]);
      // One delete can clear a reference of a row first, and then take the row along.
      const [cleared] = own;
      const isTwice = own.length === 2 && cleared?.caused === true && cleared.after !== null;
      if (!isTwice) expect([label, id, own.length]).toEqual([label, id, isChanged ? 1 : 0]);
      const last = own.at(-1);
      if (last === undefined) continue;
      expect([label, id, last.caused]).toEqual([label, id, !about.includes(id)]);
      const early = isTwice
        ? Object.fromEntries(cleared.keys.map((name) => [name, cleared.before[name] ?? null]))
        : {};
      const change = { ...last, before: { ...last.before, ...early } };
      const isStored = (name: string) => change.after === null || change.keys.includes(name);
      const stored = COLUMNS.map((name) => [name, isStored(name) ? before[name] : null]);
      expect([label, change.before]).toEqual([label, Object.fromEntries(stored)]);
      expect([label, change.after === null]).toEqual([label, after === undefined]);
      if (after === undefined || change.after === null) continue;
      for (const name of COLUMNS) {
        if (change.keys.includes(name))
          expect([label, name, change.after[name]]).toEqual([label, name, after[name]]);
        else expect([label, name, after[name]]).toEqual([label, name, before[name]]);
      }
    }
    for (const { row } of ofItems) expect([label, items.has(row)]).toEqual([label, true]);
    history.push(...ofItems);
    items = now;
  }

  const table = `/console/apps/${app.slug}/tables/items`;
  async function restore(label: string) {
    if (history.length === 0) return;
    const first = pick(history);
    const kind = pick(["one", "request", "row", "column", "whole"]);
    const wanted =
      kind === "request"
        ? history.filter(({ at }) => at === first.at)
        : kind === "row"
          ? history.filter(({ row, id }) => row === first.row && id >= first.id)
          : [first];
    const ids = wanted.map(({ id }) => id).toSorted((a, b) => a - b);
    // The steps from one to the next.
    const change = ids.map((id, index) => id - (ids[index - 1] ?? 0)).join(".");
    const query = new URLSearchParams({ change });
    const column =
      first.after === null ? undefined : pick(first.keys.length === 0 ? ["rank"] : first.keys);
    if (kind === "column" && column !== undefined) query.set("column", column);
    if (kind === "whole") query.set("whole", "yes");
    const path = `${table}/restore?${query}`;
    const page = await visit(service, jar, path);
    expect([label, page.status]).toEqual([label, 200]);
    const hidden = readHidden(page.text);
    if (Object.keys(hidden).length === 0) throw new Error(`${label} ${path}`);
    const done = await visit(service, jar, path, { fields: hidden });
    const outcome = `restore ${kind} ${done.status}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (done.status >= 500) throw new Error(`${label} ${path}: ${done.text}`);
    const now = await readItems({ service, app });
    const rows = [...new Set(wanted.map(({ row }) => row))];
    for (const row of rows) {
      const own = wanted.filter((change) => change.row === row);
      const target: Record<string, string | null> = {};
      // The row as it is, without what this change and later ones have changed.
      const undone =
        kind === "whole" && first.after !== null
          ? history.filter((change) => change.row === row && change.id >= first.id)
          : own;
      for (const change of undone.toReversed())
        for (const name of COLUMNS)
          if (
            (kind === "whole" && change.keys.includes(name)) ||
            change.after === null ||
            (change.keys.includes(name) && change.after[name] !== change.before[name])
          )
            target[name] = change.before[name] ?? null;
      const [before, after] = [items.get(row), now.get(row)];
      const isGone = own.at(-1)?.after === null;
      const note = JSON.stringify({
        label,
        kind,
        path,
        row,
        status: done.status,
        before,
        after,
        target,
        own,
      });
      if (before === undefined) {
        if (after === undefined) {
          if (isGone) expect([note, done.status]).not.toEqual([note, 303]);
          continue;
        }
        expect([note, isGone]).toEqual([note, true]);
        expect([note, after]).toEqual([note, target as Values]);
        continue;
      }
      if (after === undefined) throw new Error(note);
      const isWritten = COLUMNS.some((name) => before[name] !== after[name]);
      const names = Object.keys(target)
        .filter((name) => kind !== "column" || column === undefined || name === column)
        .filter((name) => name !== "changed_at" || kind === "column");
      const left = new Map<string, string | null>();
      for (const change of own)
        for (const name of change.keys) left.set(name, change.after?.[name] ?? null);
      const later = names.some(
        (name) =>
          before[name] !== target[name] && left.has(name) && left.get(name) !== before[name],
      );
      const isSkipped =
        isGone || (later && kind !== "whole" && !(kind === "column" && column !== undefined));
      const isRestored = done.status < 400 && !isSkipped;
      if (!isWritten) {
        if (isRestored)
          for (const name of names)
            expect([note, name, before[name]]).toEqual([note, name, target[name] ?? null]);
        continue;
      }
      expect([note, isSkipped]).toEqual([note, false]);
      for (const name of COLUMNS) {
        if (names.includes(name))
          expect([note, name, after[name]]).toEqual([note, name, target[name] ?? null]);
        else if (name !== "changed_at")
          expect([note, name, after[name]]).toEqual([note, name, before[name]]);
      }
    }
    await check(`${label} ${outcome}`, rows);
  }

  for (let round = 0; round < countRuns(2000); round++) {
    const name =
      items.size < 4 ? "create" : random(4) === 0 ? "restore" : pick(Object.keys(WRITES));
    const label = `round ${round}: ${name}`;
    if (name === "restore") await restore(label);
    else await check(label, (await WRITES[name]?.()) ?? []);
  }
  // Each kind of write and of restore has written and was rejected.
  for (const outcome of [
    ...["POST 201", "PATCH 200", "DELETE 204", "DELETE 200", "restore row 409", "restore one 422"],
  ])
    expect([outcome, counts[outcome]]).not.toEqual([outcome, undefined]);
  for (const kind of ["one", "request", "row", "column", "whole"])
    expect([kind, counts[`restore ${kind} 303`]]).not.toEqual([kind, undefined]);
}, 600_000);
