/** The first hour of a new user, from an empty folder to production, with the pages' commands. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Machine, startMachine } from "../support/machine.ts";
import {
  AS_DEVELOPER,
  checkOut,
  equip,
  HOME,
  SHAPES,
  START_WITHOUT_BUN,
  startServer,
  stopServer,
  waitForLog,
} from "./developer.ts";
import { operate, replaceProxy, startStaging } from "./operator.ts";
import { signIn, visit } from "./visitor.ts";

const STEP_MS = 300_000;
const PRODUCTION = "https://api.example.org";
const OWN_TABLE = `  my_app_tags: {
    label: t.string().required().unique(),
  },
`;

describe.each([...SHAPES])("with $name", (shape) => {
  let machine: Machine;
  /** The output of dev. */
  let tour = "";
  /** The output of the operator's commands: a link, and the app's keys. */
  let output = "";
  let stagingKey = "";
  beforeAll(async () => {
    machine = await startMachine();
    await equip(machine, shape);
  }, STEP_MS);
  afterAll(async () => await machine?.stop(), STEP_MS);

  const run = (commands: string, options: object = {}) =>
    machine.run(commands, { ...AS_DEVELOPER, ...options });
  const runAll = async (text: string, pattern: RegExp) => {
    const commands = [...text.matchAll(pattern)].map(([, command = ""]) => command);
    const responses: string[] = [];
    for (const command of commands) responses.push(await run(command));
    return responses;
  };

  test(
    "the package is packed in a fresh checkout and installed in a new project",
    async () => {
      await run(shape.pack, { folder: `${HOME}/rowhouse`, isOnline: true });
      if (shape.lacks.includes("bun")) {
        await run(START_WITHOUT_BUN, { isOnline: true });
        expect(await run("npx rowhouse init", { exits: 1 })).toMatch(
          /^This command requires Bun, which is not installed: run npm install --save-dev bun, .*\n$/,
        );
      }
      await run(shape.start, { isOnline: true });
      const started = await run(`${shape.rowhouse} init --typescript`, { isOnline: true });
      expect(started).toEndWith(`Next: ${shape.rowhouse} dev\n`);
      expect(started).not.toContain("Run ");
      expect(await run(shape.tsc)).toBe("");
    },
    STEP_MS,
  );

  test(
    "dev runs immediately, and its printed commands work",
    async () => {
      const prints = "Ctrl-C stops everything";
      const options = { ...AS_DEVELOPER, log: "dev", prints };
      tour = await startServer(machine, `${shape.rowhouse} dev`, options);
      const [created = "", listed = ""] = await runAll(tour, /^ {2}(curl .*)$/gm);
      expect(JSON.parse(listed).rows).toEqual([JSON.parse(created)]);
      const lines = /^In code.*\n([\s\S]*?)\n\n/m.exec(tour)?.[1] ?? "";
      await machine.write(`${HOME}/my-app/app.ts`, lines.replace(/^ {2}/gm, ""));
      expect(await run(`${shape.bun} app.ts`)).toContain(JSON.parse(created).id);
      expect(await run(shape.tsc)).toBe("");
    },
    STEP_MS,
  );

  test(
    "a new table is pushed during dev and gets rows",
    async () => {
      const open = "export default defineSchema({\n";
      const schema = await run("cat schema/mod.ts");
      await machine.write(`${HOME}/my-app/schema/mod.ts`, schema.replace(open, open + OWN_TABLE));
      await waitForLog(machine, "create table my_app_tags", { ...AS_DEVELOPER, log: "dev" });
      const commands = tour
        .replaceAll("/my_app_folders", "/my_app_tags")
        .replaceAll('{"name":"Milk"}', '{"label":"red"}');
      const [created = "", listed = ""] = await runAll(commands, /^ {2}(curl .*)$/gm);
      expect(JSON.parse(listed).rows).toEqual([JSON.parse(created)]);
      await stopServer(machine, "dev", AS_DEVELOPER);
    },
    STEP_MS,
  );

  test(
    "docs/install.md leads to production with Debian's PostgreSQL, PgBouncer and nginx, and doctor reports no issue",
    async () => {
      await machine.run(shape.installBun, { isOnline: true });
      await checkOut(machine, "/opt/rowhouse", {});
      output = await operate(machine);
      expect(
        output.match(/^(ok|warn|FAIL) .*$/gm)?.filter((line) => !line.startsWith("ok ")),
      ).toEqual([]);
      expect(output).toMatch(/^ok {3}pooler: .*off/m);
    },
    STEP_MS,
  );

  test(
    "the schema is pushed to a second service, and to production over https",
    async () => {
      stagingKey = await startStaging(machine, shape);
      await machine.write(
        `${HOME}/my-app/rowhouse.json`,
        JSON.stringify({
          environments: {
            staging: "http://127.0.0.1:8790",
            production: { url: PRODUCTION, confirm: true },
          },
        }),
      );
      const [, productionKey = ""] = output.match(/^rh_\S+$/gm) ?? [];
      const env = {
        ROWHOUSE_API_KEY_STAGING: stagingKey,
        ROWHOUSE_API_KEY_PRODUCTION: productionKey,
      };
      const push = (environment: string) =>
        run(`${shape.rowhouse} db push --to ${environment} --yes`, { env });
      for (const environment of ["staging", "production"])
        expect(await push(environment)).toContain("create table my_app_tags");
      const schema = await run("cat schema/mod.ts");
      const more = "label: t.string().required().unique(),\n    color: t.string(),";
      const changed = schema.replace("label: t.string().required().unique(),", more);
      await machine.write(`${HOME}/my-app/schema/mod.ts`, changed);
      for (const environment of ["staging", "production"])
        expect(await push(environment)).toContain("add column my_app_tags.color");
      const status = await run(`${shape.rowhouse} db status --to all`, { env });
      expect(status.match(/^(staging|production) +0002_\S+ +same +up to date$/gm)).toHaveLength(2);
    },
    STEP_MS,
  );

  test(
    "a row is created and read over https, with the client",
    async () => {
      const [apiKey = ""] = output.match(/^rh_\S+$/gm) ?? [];
      const code = `import { createDataClient } from "rowhouse/data";
import schema from "./schema/mod.ts";
const apiKey = process.env["ROWHOUSE_API_KEY"] ?? "";
const db = createDataClient({ baseUrl: "${PRODUCTION}", apiKey, schema });
const { id } = await db.my_app_tags.create({ label: "red" });
console.log((await db.my_app_tags.get(id)).label);
`;
      await machine.write(`${HOME}/my-app/production.ts`, code);
      const env = { ROWHOUSE_API_KEY: apiKey };
      const response = await run(`${shape.bun} production.ts`, { env });
      expect(response).toBe("red\n");
    },
    STEP_MS,
  );

  test(
    "the first administrator signs in over https, and the app receives the administrator's identity",
    async () => {
      const [link = ""] = /https:\/\/id\.example\.org\/set-password\S+/.exec(output) ?? [];
      const headers = await signIn(machine, link);
      expect(headers).toMatch(/^HTTP\/1\.1 303 /);
      expect(headers).toMatch(
        /^Set-Cookie: __Secure-rowhouse_session=(?=.*Domain=example\.org)(?=.*Secure)(?=.*HttpOnly)/im,
      );
      const origin = "-H 'Origin: https://wiki.example.org' -i";
      const response = await visit(machine, `${PRODUCTION}/v1/auth/me?app=wiki`, origin);
      expect(response).toMatch(/^access-control-allow-origin: https:\/\/wiki\.example\.org/im);
      expect(response).toContain("grace@example.org");
    },
    STEP_MS,
  );

  test(
    "Caddy works as the reverse proxy instead of nginx",
    async () => {
      const readRedirect =
        "curl -sS -o /dev/null -w '%{http_code} %{redirect_url}' http://id.example.org/login";
      expect(await machine.run(readRedirect)).toBe("308 https://id.example.org/login");
      expect(await replaceProxy(machine)).toContain('name="form_token"');
      expect(await machine.run(readRedirect)).toBe("308 https://id.example.org/login");
    },
    STEP_MS,
  );
});
