/** The organization's name and logo on sign-in, in the Console and in emails, and invalid settings. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setBrand } from "../../src/pages/mod.ts";
import { readConfig } from "../../src/settings/mod.ts";
import { eventually } from "../support/eventually.ts";
import { mailTo, openMailServer } from "../support/mail_server.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";

/** One transparent pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const NAME = "Smith & <Sons>";
const SHOWN = "<bdi>Smith &amp; &lt;Sons&gt;</bdi>";

const mails = await openMailServer();
const service = await openTestService({
  shape: "one",
  identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, cookieDomain: "example.org" }),
  service: {
    brand: { name: NAME, logo: new Uint8Array(PNG) },
    mail: mailTo(mails),
  },
});
afterAll(async () => {
  await service.close();
  await mails.close();
  setBrand({});
});

test("the pages display the name as text and the logo in an image, under the same policy", async () => {
  const chief = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  for (const [jar, path] of [
    [new Map<string, string>(), "/login"],
    [new Map<string, string>(), "/none"],
    [chief, "/console"],
  ] as const) {
    const { text, headers } = await visit(service, jar, path);
    if (path === "/none") continue;
    expect([path, text.includes(SHOWN), text.includes("Smith & <Sons>")]).toEqual([
      path,
      true,
      false,
    ]);
    expect(text).toContain("Smith &amp; &lt;Sons&gt;</title>");
    expect(headers.get("content-security-policy")).toContain("img-src 'self';");
    const [, url = ""] = /<img src="(\/assets\/organization\.png\?[0-9a-f]+)"/.exec(text) ?? [];
    const image = await fetch(service.url + url);
    expect([image.status, image.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(Buffer.from(await image.arrayBuffer()).equals(PNG)).toBe(true);
  }
});

test("an email names the organization, and embeds the logo", async () => {
  const person = await makePerson(service);
  await submitForm(service, new Map(), { path: "/forgot", typed: { email: person.email } });
  const find = () => mails.received.find((mail) => mail.to.includes(person.email));
  await eventually(() => find() !== undefined);
  expect(find()?.text.replaceAll("\n", " ")).toContain(`Sent by the sign-in service of ${NAME}.`);
  // Quoted-printable breaks lines and encodes =.
  const html = (find()?.raw ?? "").replaceAll("=\r\n", "").replaceAll("=3D", "=");
  expect(html).toContain('<img src="cid:organization-logo" alt="" height="32">');
  expect(html).toContain("Smith &amp; &lt;Sons&gt;");
  expect(html).not.toMatch(/src="http/);
});

describe("the settings reject", () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-brand-"));
  const write = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const issuesOf = (env: Record<string, string>) => {
    const read = readConfig(env, { checksRole: false });
    return "issues" in read ? read.issues : [];
  };

  test.each([
    { name: "a name of 61 characters", env: { ORGANIZATION_NAME: "a".repeat(61) } },
    { name: "a name with a line break", env: { ORGANIZATION_NAME: "a\nb" } },
    { name: "a name with a bidirectional override", env: { ORGANIZATION_NAME: "a\u202eb" } },
    { name: "a file that does not exist", env: { ORGANIZATION_LOGO: join(folder, "none.png") } },
    { name: "a folder", env: { ORGANIZATION_LOGO: folder } },
    {
      name: "a file of another type",
      env: { ORGANIZATION_LOGO: write("logo.svg", Buffer.from("<svg onload='x'></svg>")) },
    },
    {
      name: "a PNG file of more than 32 KB",
      env: { ORGANIZATION_LOGO: write("big.png", Buffer.concat([PNG, Buffer.alloc(32_768)])) },
    },
    { name: "a URL", env: { ORGANIZATION_LOGO: "https://example.org/logo.png" } },
  ])("$name", ({ env }) => {
    const [setting] = Object.keys(env);
    expect(issuesOf(env).filter((issue) => issue.startsWith(`${setting} must be`))).toHaveLength(1);
  });

  test("neither 60 characters nor a small PNG file", () => {
    const logo = write("logo.png", PNG);
    expect(issuesOf({ ORGANIZATION_NAME: "ä".repeat(60), ORGANIZATION_LOGO: logo })).toEqual([]);
  });
});
