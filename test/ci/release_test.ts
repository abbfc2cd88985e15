/** The notes of a release, and the workflow that publishes it. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { ROOT } from "../support/command.ts";
import { linkNotes, readNotes } from "./changelog.ts";

const RELEASED =
  "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n\n### Added\n\n- Two.\n\n## [0.1.0] - 2026-12-01\n\n- One.\n";
const UNRELEASED = "# Changelog\n\n## [Unreleased]\n\nThis will be 0.1.0.\n";

describe("readNotes()", () => {
  test("returns the section of the version", () => {
    expect(readNotes(RELEASED, { version: "0.2.0", isDryRun: false })).toBe(
      "### Added\n\n- Two.\n",
    );
    expect(readNotes(RELEASED, { version: "0.1.0", isDryRun: true })).toBe("- One.\n");
  });

  test("returns the section Unreleased only in a dry run", () => {
    const version = "0.1.0";
    expect(readNotes(UNRELEASED, { version, isDryRun: true })).toBe("This will be 0.1.0.\n");
    expect(() => readNotes(UNRELEASED, { version, isDryRun: false })).toThrow(
      'CHANGELOG.md needs a section "## [0.1.0] - YYYY-MM-DD"',
    );
  });

  test.each([
    { name: "another version", changelog: UNRELEASED, version: "0.3.0" },
    { name: "a section without a date", changelog: "## [0.3.0]\n\n- Three.\n", version: "0.3.0" },
    { name: "an empty section", changelog: "## [0.3.0] - 2027-01-02\n", version: "0.3.0" },
  ])("rejects $name", ({ changelog, version }) => {
    expect(() => readNotes(changelog, { version, isDryRun: true })).toThrow("CHANGELOG.md");
  });
});

test("links of the notes lead to the pages of the release", () => {
  const notes = "[page](docs/limits.md#files) [site](https://example.org/) ![x](docs/x.png)";
  expect(linkNotes(notes, "0.1.0", "https://git.example.org/acme/rowhouse")).toBe(
    "[page](https://git.example.org/acme/rowhouse/blob/v0.1.0/docs/limits.md#files) [site](https://example.org/) ![x](https://git.example.org/acme/rowhouse/blob/v0.1.0/docs/x.png)",
  );
});

const Step = v.object({
  uses: v.optional(v.string()),
  run: v.optional(v.string()),
  with: v.optional(v.record(v.string(), v.unknown()), {}),
});
const Workflow = v.object({
  permissions: v.record(v.string(), v.string()),
  jobs: v.record(
    v.string(),
    v.object({
      if: v.optional(v.string()),
      environment: v.optional(v.string()),
      needs: v.optional(v.union([v.string(), v.array(v.string())])),
      permissions: v.optional(v.record(v.string(), v.string()), {}),
      steps: v.array(Step),
    }),
  ),
});
const TEXT = readFileSync(join(ROOT, ".github/workflows/release.yml"), "utf8");
const { permissions, jobs } = v.parse(Workflow, Bun.YAML.parse(TEXT));

describe("the workflow", () => {
  test("names each action by its commit, with its version in a comment", () => {
    const uses = TEXT.match(/uses: .*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    for (const line of uses) expect(line).toMatch(/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("has write access only in jobs that need it, and stores no credentials in a checkout", () => {
    expect(permissions).toEqual({ contents: "read" });
    const granted = Object.entries(jobs).map(([name, job]) => [name, job.permissions]);
    expect(Object.fromEntries(granted)).toEqual({
      check: {},
      "dry-run": {},
      build: {},
      packages: { contents: "write", "id-token": "write" },
      "build-image": {},
      image: { packages: "write" },
    });
    for (const { uses, with: inputs } of Object.values(jobs).flatMap((job) => job.steps))
      if (uses?.startsWith("actions/checkout@")) expect(inputs["persist-credentials"]).toBe(false);
  });

  test("runs no code of the repository or of a package where a job can write or read a secret", () => {
    const strong = Object.values(jobs).filter(
      ({ environment, permissions: granted }) =>
        environment !== undefined || Object.values(granted).includes("write"),
    );
    expect(strong).toHaveLength(2);
    const commands = strong.flatMap((job) => job.steps.flatMap(({ run }) => run ?? []));
    expect(commands).toHaveLength(3);
    const builds = strong.flatMap((job) => job.steps.flatMap(({ uses }) => uses ?? []));
    for (const used of builds) expect(used).toMatch(/^actions\/(setup-node|download-artifact)@/);
    for (const command of commands) {
      expect(command).not.toMatch(/\b(install|ci|bun|npx|bash|node)\b|npm (?!publish)/);
      if (command.includes("npm publish")) expect(command).toContain("--ignore-scripts");
    }
  });

  test("publishes packages only for a pushed tag after all checks, and the image after the packages", () => {
    const pushed = "github.event_name == 'push' && github.ref_type == 'tag'";
    expect(jobs["build"]).toMatchObject({ if: pushed, needs: "check" });
    expect(jobs["packages"]).toMatchObject({ if: pushed, needs: "build" });
    expect(jobs["build-image"]).toMatchObject({ needs: "check" });
    expect(jobs["image"]).toMatchObject({ if: pushed, needs: ["build-image", "packages"] });
  });

  test("runs existing scripts with the Bun version of the project", () => {
    const { scripts, devDependencies } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = "" }) => run));
    const named = commands.flatMap((run) => [...run.matchAll(/bun run (\w+)/g)]);
    expect(named.length).toBeGreaterThan(0);
    for (const [, name = ""] of named) expect(Object.keys(scripts)).toContain(name);
    const versions = [...TEXT.matchAll(/bun@([\d.]+)/g)].map(([, version]) => version);
    expect(versions.length).toBeGreaterThan(0);
    expect(new Set(versions)).toEqual(new Set([devDependencies.bun]));
  });

  test("builds the image with an SBOM and provenance, and copies all of it", () => {
    const inputs = jobs["build-image"]?.steps.map((step) => step.with) ?? [];
    const outputs = expect.stringMatching(/^type=oci,/);
    expect(inputs).toContainEqual(
      expect.objectContaining({ sbom: true, provenance: "mode=max", outputs }),
    );
    const [command = ""] = jobs["image"]?.steps.flatMap(({ run }) => run ?? []) ?? [];
    expect(command).toContain("skopeo copy --all");
  });
});
