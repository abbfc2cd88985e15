import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeProject, runCommand } from "../support/command.ts";
import { type Jar, readHidden, sharedCookie, submitSignIn, visit } from "../support/people.ts";
import { testRefused } from "../support/refused.ts";
import { openTestService, type TestService } from "../support/service.ts";

const PASSWORD = "seven slow green boats";

let service: TestService;
let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  service = await openTestService();
  project = makeProject();
  await service.makeApp(undefined, { slug: "wiki" });
});
afterAll(async () => {
  project.remove();
  await service.close();
});

const admin = (...words: string[]) =>
  runCommand(["admin", ...words], {
    ...project,
    env: { ADMIN_DATABASE_URL: service.database.adminUrl, IDENTITY_URL: "https://id.example.org" },
  });
const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;
const json = async (...words: string[]) => {
  const { code, out, err } = await admin(...words, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return parse(out);
};

test("a person is made, sets a password by the link, gets a role, loses it, and is disabled", async () => {
  const email = "ada@example.org";
  const user = await json("create-user", "Ada@Example.org", "--name", "Ada");
  expect(user).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email,
    consoleRole: null,
    passwordLink: expect.stringMatching(
      /^https:\/\/id\.example\.org\/set-password\?token=[0-9A-Za-z]{32}$/,
    ),
  });
  const path = String(user["passwordLink"]).replace("https://id.example.org", "");
  const jar: Jar = new Map();
  const hidden = readHidden((await visit(service, jar, path)).text);
  await visit(service, jar, "/set-password", {
    fields: { ...hidden, password: PASSWORD, password_again: PASSWORD },
  });
  expect((await submitSignIn(service, jar, { email, password: PASSWORD })).status).toBe(303);
  const status = async () =>
    (
      await service.call(undefined, "/v1/auth/me?app=wiki", {
        headers: { cookie: sharedCookie(jar) },
      })
    ).status;
  expect(await status()).toBe(403);
  expect(await json("grant", email, "wiki", "editor")).toEqual({
    email,
    app: "wiki",
    role: "editor",
  });
  expect(await status()).toBe(200);
  expect(await json("revoke", email, "wiki")).toEqual({ email, app: "wiki", role: null });
  expect(await status()).toBe(403);
  expect(await admin("revoke", email, "wiki")).toMatchObject({ code: 1, out: "" });
  expect(await json("set-role", email, "admin")).toEqual({ email, consoleRole: "admin" });
  expect(await status()).toBe(200);
  expect(await json("set-role", email, "none")).toEqual({ email, consoleRole: null });
  expect((await json("sessions", email))["sessions"]).toHaveLength(1);
  expect(await json("sessions", email, "--end")).toEqual({ email, ended: 1 });
  expect(await status()).toBe(401);
  await submitSignIn(service, jar, { email, password: PASSWORD });
  expect(await json("disable", email)).toEqual({ email, disabled: true });
  expect(await status()).toBe(401);
  expect((await submitSignIn(service, new Map(), { email, password: PASSWORD })).status).toBe(422);
  expect(await json("enable", email)).toEqual({ email, disabled: false });
  expect((await submitSignIn(service, new Map(), { email, password: PASSWORD })).status).toBe(303);
  const { entries } = await json("audit", "--limit", "3");
  expect(entries).toEqual([
    expect.objectContaining({ action: "sign_in", email, actor: user["id"] }),
    expect.objectContaining({ action: "enable", email, actor: "operator" }),
    expect.objectContaining({ action: "disable", email, actor: "operator" }),
  ]);
});

test("create-user prints the link for people too, and a new link replaces it", async () => {
  const made = await admin("create-user", "bo@example.org", "--role", "super_admin");
  expect(made).toMatchObject({ code: 0, err: "" });
  expect(made.out).toContain("https://id.example.org/set-password?token=");
  const first = /\/set-password\?token=\w+/.exec(made.out)?.[0] ?? "";
  const { passwordLink } = await json("password-link", "bo@example.org");
  expect((await visit(service, new Map(), first)).status).toBe(404);
  const second = String(passwordLink).replace("https://id.example.org", "");
  expect((await visit(service, new Map(), second)).status).toBe(200);
});

describe("refused:", () => {
  testRefused(admin, [
    { words: ["create-user", "bo@example.org"], code: 1, says: "the address is taken" },
    { words: ["create-user", "not-an-address"], code: 1, says: "Cannot use the address" },
    {
      words: ["create-user", "x@example.org", "--role", "king"],
      code: 2,
      says: "Unknown Console role",
    },
    { words: ["set-role", "bo@example.org", "none"], code: 1, says: "last super_admin" },
    { words: ["disable", "bo@example.org"], code: 1, says: "last super_admin" },
    {
      words: ["grant", "bo@example.org", "wiki", "super_admin"],
      code: 1,
      says: "Cannot grant the role",
    },
    {
      words: ["grant", "bo@example.org", "no-such-app", "editor"],
      code: 1,
      says: "No app has the slug",
    },
    {
      words: ["grant", "nobody@example.org", "wiki", "editor"],
      code: 1,
      says: "Nobody has the address",
    },
    { words: ["sessions", "nobody@example.org"], code: 1, says: "Nobody has the address" },
    { words: ["grant", "bo@example.org", "wiki"], code: 2, says: "role" },
    { words: ["audit", "--limit", "0"], code: 2, says: "whole number" },
  ]);
});
