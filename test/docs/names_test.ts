/** The documentation names every endpoint and page, and every method, option and field of the clients. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createDataClient, DataError } from "../../src/sdk/data.ts";
import { createIdentityClient, IdentityError } from "../../src/sdk/identity.ts";
import { docs as docsRoutes, pages, routes } from "../../src/service/routes.ts";
import { ROOT } from "../support/command.ts";
import { findSources } from "../support/examples.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const page = ["data", "query", "clients"].map((name) => read(`docs/${name}.md`)).join("\n");
const url = "https://api.example.org";
const { any = {} } = createDataClient({ baseUrl: url, apiKey: "key" }) as Record<string, object>;
const identity = createIdentityClient({ url, identityUrl: url, app: "wiki" });

test("the pages name the endpoints, except of pushes, and the pages, except of the Console", () => {
  const docs = ["data", "query", "push", "identity", "install", "operating"].map((name) =>
    read(`docs/${name}.md`),
  );
  const text = docs.join("\n");
  const toDisplayed = (path: string) =>
    path.replace(":table", "{table}").replace(/^\/docs\/\w+(\.md)?$/, "/docs/<page>$1");
  const endpoints = [...routes, ...docsRoutes].map(
    ({ method, path }) => `${method} ${toDisplayed(path)}`,
  );
  const named = [...endpoints, ...pages.map(({ path }) => path)]
    .filter((name) => !/^\/(assets|console)\/| \/v1\/data\/schema/.test(name))
    .map((name) => name.replace(/:(\w+)/g, "<$1>"))
    .map((name) => name.replace(/^GET (\/live|\/ready)$/, "$1"));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !text.includes(`\`${name}`))).toEqual([]);
});

test.each([
  { subject: "methods of a table", names: Object.keys(any) },
  { subject: "methods of the identity client", names: Object.keys(identity) },
])("the pages name the $subject", ({ names }) => {
  expect(names.length).toBeGreaterThan(7);
  expect(names.filter((name) => !page.includes(`| \`${name}(`))).toEqual([]);
});

test.each([
  { error: new DataError("", { status: 0, code: "timeout" }), name: "a DataError" },
  { error: new IdentityError(404, "unknown_app"), name: "an IdentityError" },
])("the pages name the fields of $name", ({ error }) => {
  const names = Object.keys(error).filter((field) => field !== "name");
  expect(names.length).toBeGreaterThan(1);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the pages name all options", async () => {
  const files = await findSources("src/sdk");
  const code = files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  const types = [...code.matchAll(/^export type \w+Options = [^}]*?\{([\s\S]*?)^\};/gm)];
  const names = types.flatMap(([, body = ""]) =>
    [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name = ""]) => name),
  );
  expect(new Set(names).size).toBeGreaterThan(12);
  const isNamed = (name: string) => new RegExp(`[\`{ ,]${name}[\`}, :]`).test(page);
  expect([...new Set(names)].filter((name) => !isNamed(name))).toEqual([]);
});
