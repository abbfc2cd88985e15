/** Files of settings in the documentation: a shell reads each value as intended. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readMailFrom } from "../../src/mail/settings.ts";
import { ROOT } from "../support/command.ts";
import { readBlocks } from "./blocks.ts";

const SETTING = /^([A-Z][A-Z_0-9]*)=(?:"(.*)"|(.*))$/;

type EnvFile = { location: string; code: string; values: Readonly<Record<string, string>> };

/** Returns the blocks that consist of settings, with the intended values. */
function readEnvFiles(page: string): EnvFile[] {
  const blocks = readBlocks(readFileSync(join(ROOT, page), "utf8"));
  return blocks.flatMap(({ language, line, code }) => {
    const lines = code.trimEnd().split("\n");
    if (language !== "ini" || !lines.every((text) => SETTING.test(text))) return [];
    const values = lines.map((text) => {
      const [, name = "", quoted, plain = ""] = SETTING.exec(text) ?? [];
      return [name, quoted ?? plain] as const;
    });
    return [{ location: `${page}:${line}`, code, values: Object.fromEntries(values) }];
  });
}

function source(code: string) {
  const script = `set -aeu; . /dev/stdin; env -0`;
  const { stdout, stderr, exitCode } = Bun.spawnSync(["sh", "-c", script], {
    env: { PATH: process.env["PATH"] ?? "" },
    stdin: Buffer.from(code),
  });
  const pairs = String(stdout).split("\0").slice(0, -1);
  const read = Object.fromEntries(
    pairs.map((pair) => [pair.split("=", 1)[0], pair.replace(/^[^=]*=/, "")]),
  );
  return { read, err: String(stderr), exitCode };
}

const pages = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)];
const files = pages.filter((page) => page.endsWith(".md")).flatMap(readEnvFiles);

describe("sh", () => {
  test.each(files)("reads the settings of $location", ({ code, values }) => {
    const { read, err, exitCode } = source(code);
    expect({ err, exitCode }).toEqual({ err: "", exitCode: 0 });
    expect(read).toMatchObject(values);
  });

  test("reads settings of each page with settings, and a sender of emails", () => {
    const named = files.map(({ location }) => location.split(":")[0]);
    for (const page of ["docs/identity.md", "docs/install.md", "docs/tutorial.md"])
      expect(named).toContain(page);
    const sender = files.flatMap(({ code }) => source(code).read["MAIL_FROM"] ?? []);
    expect(sender.map(readMailFrom)).toEqual([
      { name: "Rowhouse", address: "no-reply@example.org" },
    ]);
  });
});
