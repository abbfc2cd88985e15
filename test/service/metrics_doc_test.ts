/**
 * Compares the metrics in docs/operating.md with the code: every family with its type and labels, and the alerts of
 * deploy/alerts.yml, in valid PromQL.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import * as v from "valibot";
import { PROBLEMS } from "../../src/problem.ts";
import { makeMetrics } from "../../src/service/metrics.ts";
import { ROOT } from "../support/command.ts";
import { openTestService, type TestService } from "../support/service.ts";

const PAGE = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
const ROW = /^\| (`rowhouse_[^|]+) \| (\w+) \| ([^|]*)\|/gm;
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
/** The documented type and labels by name. */
const DOCUMENTED = new Map(
  [...PAGE.matchAll(ROW)].flatMap(([, names = "", type = "", labels = ""]) =>
    quoted(names).map((name) => [name, { type, labels: quoted(labels).toSorted() }] as const),
  ),
);

const Rules = v.object({
  groups: v.array(v.object({ rules: v.array(v.object({ alert: v.string(), expr: v.string() })) })),
});
const RULES = v
  .parse(Rules, Bun.YAML.parse(readFileSync(join(ROOT, "deploy/alerts.yml"), "utf8")))
  .groups.flatMap((group) => group.rules);

type Family = { type: string; labels: string[]; values: Map<string, Set<string>> };

/** Parses the families in Prometheus's text format. */
function readFamilies(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm))
    families.set(name, { type, labels: [], values: new Map() });
  for (const [, sample = "", labels = ""] of text.matchAll(/^(\w+?)(?:\{(.*)\})? \S+$/gm)) {
    const name = sample.replace(/_(bucket|sum|count)$/, "");
    const family = families.get(sample) ?? families.get(name);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      if (label === "le" || family === undefined) continue;
      const values = family.values.get(label) ?? new Set();
      family.values.set(label, values.add(value));
      family.labels = [...family.values.keys()].toSorted();
    }
  }
  return families;
}

let service: TestService;
let served: Map<string, Family>;
/** The families with a sample for each label. */
let sampled: Map<string, Family>;
beforeAll(async () => {
  service = await openTestService();
  const response = await service.service.adminFetch(new Request("http://localhost/metrics"));
  served = readFamilies(await response.text());
  const shed = { queue_full: 0, full: 0, waited: 0, unavailable: 0 };
  const stats = () => ({ open: 0, busy: 0, connecting: 0, waiting: 0, shed });
  const metrics = makeMetrics({
    pools: { serving: stats },
    streamBytes: () => 0,
    inFlight: () => 0,
  });
  for (const code of Object.keys(PROBLEMS))
    for (const status of [200, 304, 400, 500])
      metrics.record({ route: "none", method: "GET", status, code, ms: 1 } as Parameters<
        typeof metrics.record
      >[0]);
  for (const outcome of ["sent", "failed", "rejected", "void"] as const)
    metrics.recordMail({ mailId: 1, template: "invitation", outcome });
  sampled = readFamilies(await metrics.print());
});
afterAll(() => service.close());

test("docs/operating.md lists exactly Rowhouse's metric families, and names the others", () => {
  const isOwn = (name: string) => name.startsWith("rowhouse_");
  const own = [...served.keys()].filter(isOwn).toSorted();
  const others = [...served.keys()].filter((name) => !isOwn(name));
  expect(DOCUMENTED.size).toBeGreaterThan(5);
  expect([...DOCUMENTED.keys()].toSorted()).toEqual(own);
  expect(others.filter((name) => !/^(process|nodejs_eventloop_lag)_/.test(name))).toEqual([]);
});

test("docs/operating.md states the type and the labels of each family", () => {
  const found = [...sampled]
    .filter(([name]) => name.startsWith("rowhouse_"))
    .map(([name, { type, labels }]) => [name, { type, labels }] as const);
  expect(Object.fromEntries(DOCUMENTED)).toEqual(Object.fromEntries(found));
});

/** Returns the parts of an expression. `valid` is false if the parser had to recover from an error. */
function readExpression(text: string) {
  const found = { valid: true, names: [] as string[], labels: [] as string[] };
  const matchers: { label: string; operator: string; value: string }[] = [];
  parser.parse(text).iterate({
    enter: ({ name, type, from, to, node }) => {
      const own = text.slice(from, to);
      if (type.isError) found.valid = false;
      if (name === "Identifier" && node.parent?.name === "VectorSelector") found.names.push(own);
      if (name === "LabelName") found.labels.push(own);
      if (name !== "UnquotedLabelMatcher") return;
      const [, label = "", operator = "", value = ""] = /^(\w+)\s*(\W+?)"(.*)"$/.exec(own) ?? [];
      matchers.push({ label, operator, value });
    },
  });
  return { ...found, matchers };
}

describe("the alerts of deploy/alerts.yml", () => {
  test("cover every family that the service defines", () => {
    const named = RULES.flatMap(({ expr }) => readExpression(expr).names).join(" ");
    expect([...DOCUMENTED.keys()].filter((name) => !named.includes(name))).toEqual([]);
  });

  test("are parsed by a parser that rejects an invalid expression", () => {
    for (const text of ["sum(rate(x[5m])", "x > ", "x{a=1}", "rate(x[5 minutes])"])
      expect([text, readExpression(text).valid]).toEqual([text, false]);
  });

  test.each(RULES)("$alert is valid, and its names, labels and values exist", ({ expr }) => {
    const { valid, names, labels, matchers } = readExpression(expr);
    expect([valid, names.length > 0]).toEqual([true, true]);
    const families = names
      .filter((name) => name !== "up")
      .map((name) => {
        const family = sampled.get(name) ?? sampled.get(name.replace(/_(bucket|sum|count)$/, ""));
        if (family === undefined) throw new Error(`No metric has the name ${name}`);
        return family;
      });
    const known = new Set(["job", "le", ...families.flatMap((family) => family.labels)]);
    const used = [...labels, ...matchers.map(({ label }) => label)];
    expect(used.filter((label) => !known.has(label))).toEqual([]);
    for (const { label, value } of matchers.filter((matcher) => matcher.label !== "job"))
      for (const part of value.split("|"))
        expect(families.some(({ values }) => values.get(label)?.has(part) === true)).toBe(true);
  });
});
