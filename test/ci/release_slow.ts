/** `bun run release --dry-run` in a copy of the repository: the files that a release publishes. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";

const RELEASE_MS = 240_000;
const TOOLS = "test/ci/tools/node_modules";

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "rowhouse-release-"));
  const listed = Bun.spawnSync(["git", "ls-files", "-co", "--exclude-standard"], { cwd: ROOT });
  for (const file of listed.stdout.toString().trim().split("\n"))
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file));
  dateChangelog();
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  if (existsSync(join(ROOT, TOOLS))) symlinkSync(join(ROOT, TOOLS), join(copy, TOOLS));
});
afterAll(() => rmSync(copy, { recursive: true }));

/** Between two releases, the changelog has no section of the version. */
function dateChangelog(): void {
  const { version } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const path = join(copy, "CHANGELOG.md");
  const text = readFileSync(path, "utf8");
  if (text.includes(`\n## [${version}] - `)) return;
  const dated = `$&\n## [${version}] - 2026-01-01\n\n### Changed\n\n- One.\n`;
  writeFileSync(path, text.replace("## [Unreleased]\n", dated));
}

function release(flags: string[], env: Readonly<Record<string, string>> = {}) {
  const { GITHUB_REF_TYPE: _, GITHUB_REF_NAME: __, ...own } = process.env;
  const child = Bun.spawnSync([process.execPath, "run", "release", ...flags], {
    cwd: copy,
    env: { ...own, ...env },
  });
  return { code: child.exitCode, err: child.stderr.toString() };
}

test(
  "a dry run writes both packages, the release notes, SBOMs and digests",
  () => {
    expect(release(["--dry-run", "--without-image"])).toEqual({ code: 0, err: expect.any(String) });
    const { version, dependencies } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
    const names = ["rowhouse", "rowhouse-client"].map((name) => `${name}-${version}`);
    const files = names.flatMap((name) => [`${name}.tgz`, `${name}.cdx.json`]);
    const out = join(copy, "release");
    expect(readdirSync(out).toSorted()).toEqual(["SHA256SUMS", "notes.md", ...files].toSorted());

    const bom = JSON.parse(readFileSync(join(out, `rowhouse-${version}.cdx.json`), "utf8"));
    expect(bom.bomFormat).toBe("CycloneDX");
    const components = bom.components.map(
      (component: { name: string; version: string }) => `${component.name}@${component.version}`,
    );
    for (const [name, wanted] of Object.entries(dependencies)) {
      const expected = `${name.split("/").pop()}@${wanted}`;
      expect(components.some((component: string) => component.endsWith(expected))).toBe(true);
    }
    const sums = Bun.spawnSync(["sha256sum", "--check", "--strict", "SHA256SUMS"], { cwd: out });
    expect(sums.exitCode).toBe(0);
    expect(readFileSync(join(out, "notes.md"), "utf8")).toMatch(/^### /m);
  },
  RELEASE_MS,
);

test("a release needs its program among the packed versions", () => {
  const path = join(copy, "src/added.ts");
  writeFileSync(path, "");
  const { code, err } = release([]);
  rmSync(path);
  expect(code).toBe(1);
  expect(err).toMatch(/has another program than .* run bun test\/upgrade\/freeze\.ts HEAD/);
});

test("a release needs a dated changelog section, a matching tag and one version", () => {
  rmSync(join(copy, "release"), { recursive: true, force: true });
  const changes = join(copy, "CHANGELOG.md");
  const dated = readFileSync(changes, "utf8");
  writeFileSync(changes, dated.replaceAll(/^(## \[[\d.]+\]) - .*$/gm, "$1"));
  const { code, err } = release([]);
  writeFileSync(changes, dated);
  expect([code, err]).toEqual([1, expect.stringContaining("CHANGELOG.md needs a section")]);
  const tagged = release(["--dry-run", "--without-image"], {
    GITHUB_REF_TYPE: "tag",
    GITHUB_REF_NAME: "v9.9.9",
  });
  expect(tagged.err).toContain("The tag v9.9.9 does not match the version");
  const path = join(copy, "packages/client/package.json");
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(/"version": "[^"]+"/, '"version": "9.9.9"'),
  );
  expect(release(["--dry-run", "--without-image"]).err).toContain(
    "The packages have different versions",
  );
  expect(existsSync(join(copy, "release"))).toBe(false);
});
