/** Projects of other stacks: the locked packages of this folder, the packed client, and a served app. @module */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Preview } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { readBlocks } from "../docs/blocks.ts";
import { type Setting, writeFile } from "../docs/page.ts";
import { openShell } from "../docs/shell.ts";
import { DOMAIN, openSite, type TestSite } from "../support/browser.ts";
import { ROOT } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";
import { makePerson, type Person, sharedCookie, signInAs } from "../support/people.ts";
import { callService } from "../support/service.ts";

const PACKAGES = import.meta.dir;
/** The lock file for Python, created by `uv pip compile --generate-hashes --universal`. */
export const REQUIREMENTS = join(PACKAGES, "requirements.txt");
const TSCONFIG = {
  compilerOptions: {
    target: "ES2023",
    lib: ["ES2023", "DOM", "DOM.Iterable"],
    module: "Preserve",
    moduleResolution: "bundler",
    jsx: "react-jsx",
    types: ["node", "vite/client"],
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noUnusedLocals: true,
  },
  include: ["**/*.ts", "**/*.tsx"],
};

/** The environment of a stack's page: its packages, the tables of docs/data.md, an app, and a person with a role on it. */
export type Stack = {
  site: TestSite;
  person: Person;
  origin: string;
  key: string;
  setting: Setting;
};

type StackOptions = {
  page: string;
  previews?: readonly Preview[];
  /** Folders with programs, searched before this machine's. */
  programs?: readonly string[];
};

/** Opens a project for a page in a folder. */
export async function openStack(
  folder: string,
  { page, previews = [], programs = [] }: StackOptions,
): Promise<Stack> {
  await installPackages(folder);
  writeFile(folder, "tsconfig.json", JSON.stringify(TSCONFIG));
  writeFile(folder, "schema/mod.ts", readSchema());
  const site = await openSite({}, { service: { previews } });
  const port = await findFreePort();
  const origin = `http://wiki.${DOMAIN}:${port}`;
  const { service } = site;
  const { default: schema } = await import(join(folder, "schema/mod.ts"));
  const options = { slug: "wiki", origins: [origin], cookieDomain: DOMAIN };
  const app = await service.makeApp(schema, options);
  if (previews.includes("live")) await setAppSwitch(service.service, "wiki", ["live", true]);
  await service.service.warm();
  const person = await makePerson(service, { name: "Ada", app, role: "editor" });
  const url = site.identityUrl;
  const pages = { url, call: callService.bind(undefined, { url, secrets: service.secrets }) };
  const [, session = ""] = sharedCookie(await signInAs(pages, person)).split("=");
  const path = [...programs, dirname(process.execPath), process.env["PATH"]].join(":");
  const env = { PATH: path, SESSION: session, PORT: String(port) };
  const setting = {
    shell: openShell({ folder, state: join(folder, ".state"), env }),
    replace: {
      ...Object.fromEntries(listInstalls(page).map((line) => [line, "true"])),
      "http://127.0.0.1:8787": service.url,
      "8787": new URL(service.url).port,
      "rh_m0ngxy4ek576z200.FnRN": app.key,
      "3000": String(port),
    },
    close: site.close,
  };
  return { site, person, origin, key: app.key, setting };
}

/** Installs the packages of the lock file, and adds the client. */
async function installPackages(folder: string): Promise<void> {
  for (const file of ["package.json", "bun.lock"]) cpSync(join(PACKAGES, file), join(folder, file));
  await run(["install", "--frozen-lockfile"], folder);
  const checkout = join(folder, ".checkout");
  for (const path of ["packages", "src", "LICENSE"])
    cpSync(join(ROOT, path), join(checkout, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  const client = join(checkout, "packages/client");
  await run(["build.ts"], client);
  const installed = join(folder, "node_modules/rowhouse-client");
  mkdirSync(installed);
  for (const path of ["package.json", "dist"])
    cpSync(join(client, path), join(installed, path), { recursive: true });
}

async function run(args: string[], cwd: string): Promise<void> {
  const child = Bun.spawn([process.execPath, ...args], { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`Cannot run bun ${args.join(" ")}: ${out}${err}`);
}

/** Returns the tables of docs/data.md, with the imports of the client package. */
function readSchema(): string {
  const data = readBlocks(readFileSync(join(ROOT, "docs/data.md"), "utf8"));
  const schema = data.find(({ code }) => code.startsWith("// schema/mod.ts\n"));
  return (schema?.code ?? "").replace("rowhouse/schema", "rowhouse-client/schema");
}

/** Returns the page's commands that install packages. @throws {Error} the lock file does not contain a package */
function listInstalls(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const lines = text.match(/^(?:npm|pip) install .+$/gm) ?? [];
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(PACKAGES, "package.json"), "utf8"),
  );
  const python = readFileSync(REQUIREMENTS, "utf8").matchAll(/^([\w-]+)==/gm);
  const locked = new Set([
    ...Object.keys({ ...dependencies, ...devDependencies }),
    ...[...python].map(([, name = ""]) => name),
  ]);
  const named = lines.flatMap((line) => line.split(" ").slice(2));
  const missing = named.filter((name) => !/^(--|\.\/)/.test(name) && !locked.has(name));
  if (missing.length > 0) throw new Error(`${page}: not in the lock file: ${missing.join(", ")}`);
  return lines;
}
