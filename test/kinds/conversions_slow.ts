/**
 * Conversions between every two column kinds, with many values of each, compared with the oracle: which values convert, what they
 * become, and that they can be converted back unless the key needs schema:drop.
 */
import { expect, test } from "bun:test";
import { KINDS, type Kind } from "../../src/kinds/mod.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { testDeps } from "../support/deps.ts";
import { KIND_CASES, openKinds, tableWith, toTexts, typeOf } from "../support/kinds.ts";
import { postChange } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

type Pair = { from: Kind; to: Kind };
/** A reduced run converts each kind from and to a sixth of the others: the text of a value is between them. */
const PAIRS: Pair[] = KINDS.flatMap((from, n) =>
  KINDS.filter((to, m) => to !== from && (isFull() || (n + m) % 6 === 3)).map((to) => ({
    from,
    to,
  })),
);
const toPairTable = ({ from, to }: Pair) => `convert_${from}_${to}`;

/** A key that cannot drop values. */
const service = await share(openTestService());
const tables = PAIRS.map((pair) => [toPairTable(pair), tableWith(pair.from)]);
const kinds = await openKinds(service, Object.fromEntries(tables));
const scopes = ["data:read", "data:write", "schema:push"] as const;
const key = { slug: kinds.app.slug, name: "keeping", scopes, expiresAt: undefined };
const keepingKey = (await issueKey(testDeps(service.service), key)).text;
service.secrets.add(keepingKey);

const retype = (table: string, kind: Kind, key = kinds.app.key) => {
  const change = { kind: "retype_column", table, column: "value", type: typeOf(kind) };
  return postChange(service, { ...kinds.app, key }, change);
};

/** References are never converted. Between other kinds, a value converts if its text is a value of the new kind. */
test.each(PAIRS)("a $from converts to $to if the oracle converts it", async ({ from, to }) => {
  const table = toPairTable({ from, to });
  const values = kinds.valuesOf(from).map((value) => {
    const text = KIND_CASES[from].toText(value);
    return {
      value,
      become: text === undefined ? text : KIND_CASES[to].fromText(text, from, value),
    };
  });
  const rows = await kinds.createAll(
    table,
    [...values, { value: null }].map(({ value }, nth) => ({ value, nth })),
  );
  if (from === "ref" || to === "ref") {
    expect((await retype(table, to)).status).toBe(to === "ref" ? 422 : 409);
    return;
  }
  const bad = rows.filter(({ nth }) => nth < values.length && values[nth]?.become === undefined);
  if (bad.length > 0) {
    const { status, text } = await retype(table, to);
    const counted = /(\d+) of this app's (\d+) rows? ha(?:s|ve) a value that does not convert/.exec(
      text,
    );
    expect([status, counted?.slice(1).map(Number)]).toEqual([409, [bad.length, rows.length]]);
    await kinds.remove(table, bad);
  }
  const good = values.filter(({ become }) => become !== undefined);
  const kept = await retype(table, to, keepingKey);
  const isKept = kept.status === 200;
  if (!isKept) expect(kept.status).toBe(403);
  const converted = isKept ? kept : await retype(table, to);
  expect([converted.status, converted.text.includes('"applied"')]).toEqual([200, true]);
  expect(toTexts((await kinds.list(table)).map(({ value }) => value))).toEqual(
    toTexts([...good.map(({ become }) => become), null]),
  );
  // A key that cannot drop values makes only conversions that can be undone.
  if (!isKept) return;
  const back = await retype(table, from);
  expect([back.status, back.text]).toEqual([200, back.text]);
  expect(toTexts((await kinds.list(table)).map(({ value }) => value))).toEqual(
    toTexts([...good.map(({ value }) => value), null]),
  );
});
