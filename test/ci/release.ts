/**
 * `bun run release`: checks a release and writes its files to `release/`: both packages, the notes, an SBOM and the digests. It
 * does not publish or tag: `.github/workflows/release.yml` does that with these files. A dry run also packs the image, on a base that
 * Debian's tools make; the workflow builds the published one on the registry's base, in a job without rights.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as v from "valibot";
import { buildImage, canBuildImage } from "../support/container.ts";
import { findChanged, toPath } from "../upgrade/packed.ts";
import { linkNotes, readNotes } from "./changelog.ts";

const ROOT = join(import.meta.dirname, "../..");
const TOOLS = join(ROOT, "test/ci/tools");
const PACKAGES = [".", "packages/client"] as const;
const Manifest = v.object({
  name: v.string(),
  version: v.string(),
  license: v.string(),
  dependencies: v.optional(v.record(v.string(), v.string()), {}),
});

const OUT = join(ROOT, "release");

const { values } = parseArgs({
  options: { "dry-run": { type: "boolean" }, "without-image": { type: "boolean" } },
});
const isDryRun = values["dry-run"] === true;

const version = readVersion();
const notes = readNotes(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), { version, isDryRun });
checkTag(version);
await checkPacked(version);
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
if (!existsSync(join(TOOLS, "node_modules")))
  await run(["bun", "install", "--frozen-lockfile", "--ignore-scripts"], TOOLS);
for (const folder of PACKAGES) {
  await lint(await pack(folder));
  await writeBom(folder);
}
if (isDryRun && values["without-image"] !== true) packImage();
writeFileSync(join(OUT, "notes.md"), linkNotes(notes, version, readRepository()));
writeDigests();
console.log(`${isDryRun ? "Checked" : "Prepared"} ${version} in ${OUT}: ${listFiles().join(", ")}`);

/** @throws {Error} the packages have different versions */
function readVersion(): string {
  const [first, ...others] = PACKAGES.map((folder) => readManifest(folder).version);
  if (first !== undefined && others.every((other) => other === first)) return first;
  throw new Error(`The packages have different versions: ${[first, ...others].join(", ")}`);
}

function readManifest(folder: string): v.InferOutput<typeof Manifest> {
  return v.parse(Manifest, JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")));
}

/** Checks the tag of a workflow run. @throws {Error} the tag names another version */
function checkTag(expected: string): void {
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: tag } = process.env;
  if (type === "tag" && tag !== `v${expected}`)
    throw new Error(`The tag ${tag} does not match the version ${expected} of package.json`);
}

/** Checks that later versions upgrade from the program that is released. @throws {Error} another one is packed, or none */
async function checkPacked(expected: string): Promise<void> {
  const isPacked = existsSync(toPath(expected, "program"));
  const changed = isPacked ? await findChanged(ROOT, expected) : ["src/"];
  if (changed.length === 0) return;
  const message = `test/upgrade/versions has another program than ${expected}, in ${changed.length} files such as ${changed[0]}: run bun test/upgrade/freeze.ts HEAD and commit its files`;
  if (!isDryRun) throw new Error(message);
  console.warn(`Before the release: ${message}`);
}

/** The address of the repository whose workflow this is; outside of one, a relative address. */
function readRepository(): string {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  return server === undefined || name === undefined ? "../.." : `${server}/${name}`;
}

/** Builds and packs a package, and returns the path of the file. */
async function pack(folder: string): Promise<string> {
  await run(["bun", "pm", "pack", "--destination", OUT], join(ROOT, folder));
  const { name } = readManifest(folder);
  return join(OUT, `${name}-${version}.tgz`);
}

async function lint(tarball: string): Promise<void> {
  const bin = (name: string) => join(TOOLS, "node_modules/.bin", name);
  await run(["bun", bin("publint"), "run", "--strict", "--level=suggestion", tarball], ROOT);
  await run(["bun", bin("attw"), "--profile=esm-only", tarball], ROOT);
}

/** Writes a CycloneDX document of a package and of the packages that npm installs with it. */
async function writeBom(folder: string): Promise<void> {
  const manifest = readManifest(folder);
  const project = mkdtempSync(join(tmpdir(), "rowhouse-sbom-"));
  try {
    writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
    await run(["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"], project);
    const bom = await run(
      ["npm", "sbom", "--package-lock-only", "--sbom-format=cyclonedx"],
      project,
    );
    writeFileSync(join(OUT, `${manifest.name}-${version}.cdx.json`), bom);
  } finally {
    rmSync(project, { recursive: true });
  }
}

function packImage(): void {
  if (!canBuildImage) {
    console.warn("The image is not packed: install buildah and debootstrap, on Debian");
    return;
  }
  const image = buildImage();
  try {
    image.save(join(OUT, `rowhouse-image-${version}.oci.tar`));
  } finally {
    image.remove();
  }
}

function writeDigests(): void {
  const lines = listFiles().map((name) => {
    const sha256 = createHash("sha256").update(readFileSync(join(OUT, name)));
    return `${sha256.digest("hex")}  ${name}\n`;
  });
  writeFileSync(join(OUT, "SHA256SUMS"), lines.join(""));
}

function listFiles(): string[] {
  return readdirSync(OUT).toSorted();
}

/** Runs a command and returns its output. @throws {Error} the command fails */
async function run([command = "", ...args]: string[], cwd: string): Promise<string> {
  const program = command === "bun" ? process.execPath : command;
  const child = Bun.spawn([program, ...args], {
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return text;
  throw new Error(`Cannot run ${[command, ...args].join(" ")} in ${cwd}: ${text}${err}`);
}
