/** `rowhouse admin` for several people: addresses or a file, all or nothing, with every error. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openAdmin } from "../support/admin.ts";
import { cases } from "../support/cases.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin());

let count = 0;

/** Two people, an app of which no one has a role, and an address that no one has. */
async function makePeople() {
  const { slug } = await admin.service.makeApp();
  const [one, two] = [await makePerson(admin.service), await makePerson(admin.service)];
  return { slug, emails: [one.email, two.email] as const, unknown: `no${count++}@example.org` };
}

function writeList(name: string, text: string): string {
  writeFileSync(join(admin.folder, name), text);
  return name;
}

async function listRoles(slug: string): Promise<Record<string, unknown>> {
  const { grants } = (await admin.json("list-grants", slug)) as {
    grants: { email: string; role: string }[];
  };
  return Object.fromEntries(grants.map(({ email, role }) => [email, role]));
}

async function listActions(action: string, emails: readonly string[]): Promise<unknown[]> {
  const { entries } = (await admin.json("audit", "--limit", "50")) as {
    entries: { email: string; action: string }[];
  };
  const ofAction = entries.filter((entry) => entry.action === action);
  return emails.map((email) => ofAction.filter((entry) => entry.email === email).length);
}

test("grant and revoke change several addresses, with an audit entry for each person", async () => {
  const { slug, emails } = await makePeople();
  const shown = emails.map((email) => ({ email, app: slug, role: "editor" }));
  const granted = await admin.json("grant", ...emails, slug, "editor");
  expect(granted).toEqual({ people: shown, dryRun: false });
  expect(await listRoles(slug)).toEqual({ [emails[0]]: "editor", [emails[1]]: "editor" });
  expect(await listActions("grant", emails)).toEqual([1, 1]);
  const revoked = await admin.json("revoke", ...emails, slug);
  expect(revoked["people"]).toEqual(shown.map((person) => ({ ...person, role: null })));
  expect(await listRoles(slug)).toEqual({});
  expect(await listActions("revoke", emails)).toEqual([1, 1]);
});

test.each([
  {
    name: "names of columns",
    toText: (a: string, b: string) => `Id,"E-Mail",Email\n1,,${a}\n2,"x,\ny",${b}\n`,
  },
  { name: "no names", toText: (a: string, b: string) => `${a}\r\n${b}` },
  {
    name: "semicolons and a byte order mark",
    toText: (a: string, b: string) => `\uFEFFemail;team\n${a};x\n${b};y\n`,
  },
])("grant reads a file with $name", async ({ toText }) => {
  const { slug, emails } = await makePeople();
  const file = writeList("people.csv", toText(...emails));
  const { code, out } = await admin.run("grant", slug, "editor", "--file", file);
  expect({ code, out }).toEqual({
    code: 0,
    out: emails.map((email) => `${email} is now editor on ${slug}\n`).join(""),
  });
  expect(Object.keys(await listRoles(slug)).sort()).toEqual([...emails].sort());
});

test("a file with errors changes no one, and lists every error with its line", async () => {
  const { slug, emails, unknown } = await makePeople();
  const file = writeList(
    "wrong.csv",
    `email\n${emails[0]}\n${unknown}\nada\n${emails[0].toUpperCase()}\n"${emails[1]}" x\n`,
  );
  const { code, out, err } = await admin.run("grant", "nowhere", "Super", "--file", file);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  const [opening, ...lines] = err.trim().split("\n");
  expect(opening).toContain("Nothing was changed: 6 errors");
  expect(lines).toEqual([
    expect.stringMatching(/^ {2}.*"Super"/),
    expect.stringMatching(/^ {2}.*"nowhere"/),
    expect.stringContaining(`wrong.csv:3: No user has the address "${unknown}"`),
    expect.stringMatching(/^ {2}wrong.csv:4: .*"ada"/),
    `  wrong.csv:5: ${emails[0]} is listed twice`,
    expect.stringMatching(/^ {2}wrong.csv:6: .*quote/),
  ]);
  const json = await admin.run("grant", slug, "editor", "--file", file, "--json");
  const { details } = JSON.parse(json.out) as { details: { path: string }[] };
  expect(details.map(({ path }) => path)).toEqual(["/3", "/4", "/5", "/6"]);
  expect(await listRoles(slug)).toEqual({});
});

test("revoke changes no one if one of the people has no role", async () => {
  const { slug, emails } = await makePeople();
  await admin.json("grant", emails[0], slug, "editor");
  const { code, err } = await admin.run("revoke", ...emails, slug);
  expect(code).toBe(1);
  expect(err).toContain(`${emails[1]} has no role on ${slug}`);
  expect(err).not.toContain(emails[0]);
  expect(await listRoles(slug)).toEqual({ [emails[0]]: "editor" });
  expect(await admin.json("revoke", emails[0], slug, "--dry-run")).toMatchObject({ dryRun: true });
  expect(await listRoles(slug)).toEqual({ [emails[0]]: "editor" });
});

test("invite reads names, creates who is new, and grants a role to who is not; a dry run does neither", async () => {
  const { slug, emails, unknown } = await makePeople();
  const file = writeList("new.csv", `name,email\nNew One,${unknown}\n,${emails[0]}\n`);
  const dry = await admin.run("invite", slug, "editor", "--file", file, "--dry-run");
  expect(dry.out).toBe(
    `${unknown} would be invited as editor on ${slug}\n${emails[0]} has an account and would be editor on ${slug}\nNothing was changed\n`,
  );
  expect(await listRoles(slug)).toEqual({});
  const { people } = await admin.json("invite", slug, "editor", "--file", file);
  expect(people).toEqual([
    {
      email: unknown,
      app: slug,
      role: "editor",
      outcome: "made",
      passwordLink: expect.stringContaining("/set-password?token="),
    },
    { email: emails[0], app: slug, role: "editor", outcome: "granted", passwordLink: null },
  ]);
  expect(await admin.json("show-user", unknown)).toMatchObject({ displayName: "New One" });
});

test("create-user creates all people of a file or none, and disable and enable change all", async () => {
  const { emails, unknown } = await makePeople();
  const other = `o${unknown}`;
  const file = writeList("users.csv", `${unknown},Bo\n${other},\n`);
  const taken = writeList("taken.csv", `${unknown}\n${emails[0]}\n`);
  const rejected = await admin.run("create-user", "--file", taken);
  expect(rejected.err).toContain(`taken.csv:2: Cannot create the user ${emails[0]}`);
  expect((await admin.run("show-user", unknown)).code).toBe(1);
  const { people } = await admin.json("create-user", "--file", file);
  expect(people).toMatchObject([
    { email: unknown, isMailed: false, passwordLink: expect.stringContaining("token=") },
    { email: other },
  ]);
  expect(await admin.json("show-user", unknown)).toMatchObject({ displayName: "Bo" });
  expect(await listActions("create_user", [unknown, other])).toEqual([1, 1]);
  const disabled = await admin.json("disable", unknown, other);
  expect(disabled).toEqual({
    people: [unknown, other].map((email) => ({ email, disabled: true })),
  });
  expect((await admin.json("show-user", other))["disabledAt"]).not.toBeNull();
  await admin.json("enable", "--file", file);
  expect((await admin.json("show-user", other))["disabledAt"]).toBeNull();
});

test.each(cases("words", "file", "text", "says")`
  grant wiki editor            | empty.csv      |               | empty\\.csv:1: Is empty
  grant wiki editor            | head.csv       | email\n       | head\\.csv:1: Lists no one
  grant wiki editor            | names.csv      | mail,x\na,b\n | names\\.csv:1: .*"email"
  grant a@b.org wiki editor    | names.csv      |               | either addresses .*or --file
  invite wiki editor --name Bo | one.csv        |               | --name is for one person
  grant wiki editor            | ../nowhere.csv |               | File not found
`)("$words with $file is rejected", async ({ words, file, text, says }) => {
  if (text !== "" || file === "empty.csv") writeList(file, text);
  const { code, err } = await admin.run(...words.split(" "), "--file", file);
  expect(code).toBeGreaterThan(0);
  expect(err).toMatch(new RegExp(says));
});

test("too many people are rejected", async () => {
  const lines = Array.from({ length: 1001 }, (_, index) => `p${index}@example.org`);
  const file = writeList("many.csv", lines.join("\n"));
  expect((await admin.run("disable", "--file", file)).err).toContain("at most 1000");
});
