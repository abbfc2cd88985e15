/** Examples of other stacks: their locked packages, the packed client, and a served app. @module */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Preview } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import type { Setting } from "../docs/page.ts";
import { openShell } from "../docs/shell.ts";
import { DOMAIN, openSite, type TestSite } from "../support/browser.ts";
import { ROOT } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";
import { makePerson, type Person, sharedCookie, signInAs } from "../support/people.ts";
import { callService } from "../support/service.ts";

/** The lock file for Python, created by `uv pip compile --generate-hashes --universal`. */
export const REQUIREMENTS = join(ROOT, "examples/python/requirements.txt");

/** The environment of an example: its files and packages, an app with its tables, and a person with a role on it. */
export type Stack = {
  site: TestSite;
  person: Person;
  origin: string;
  key: string;
  setting: Setting;
};

type StackOptions = {
  /** The folder below `examples/`. */
  example: string;
  previews?: readonly Preview[];
  /** Folders with programs, searched before this machine's. */
  programs?: readonly string[];
};

/** Copies an example to a folder, and opens a service for it. */
export async function openStack(
  folder: string,
  { example, previews = [], programs = [] }: StackOptions,
): Promise<Stack> {
  copyExample(example, folder);
  const schema = join(folder, "schema/mod.ts");
  writeFileSync(schema, readFileSync(schema, "utf8").replace('"rowhouse/', '"rowhouse-client/'));
  await installPackages(folder);
  const site = await openSite({}, { service: { previews } });
  const port = await findFreePort();
  const origin = `http://wiki.${DOMAIN}:${port}`;
  const { service } = site;
  const { default: tables } = await import(schema);
  const options = { slug: "wiki", origins: [origin], cookieDomain: DOMAIN };
  const app = await service.makeApp(tables, options);
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
      ...Object.fromEntries(listInstalls(example).map((line) => [line, "true"])),
      "http://127.0.0.1:8787": service.url,
      "8787": new URL(service.url).port,
      "rh_m0ngxy4ek576z200.FnRN": app.key,
      "3000": String(port),
    },
    close: site.close,
  };
  return { site, person, origin, key: app.key, setting };
}

/** Copies the files of an example that git knows, without those of a run. */
export function copyExample(example: string, folder: string): void {
  const from = join(ROOT, "examples", example);
  const { stdout } = Bun.spawnSync(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { cwd: from },
  );
  for (const path of `${stdout}`
    .split("\0")
    .filter((path) => existsSync(join(from, path)) && path !== ""))
    cpSync(join(from, path), join(folder, path));
}

/** Installs the packages of the lock file of the example for Node, and adds the client. */
async function installPackages(folder: string): Promise<void> {
  for (const file of ["package.json", "bun.lock"])
    cpSync(join(ROOT, "examples/node", file), join(folder, file));
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

/** Returns the page's commands that install packages. @throws {Error} the lock file does not contain a package */
function listInstalls(example: string): string[] {
  const text = readFileSync(join(ROOT, "examples", example, "README.md"), "utf8");
  const lines = text.match(/^(?:npm|pip) install .+$/gm) ?? [];
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, "examples/node/package.json"), "utf8"),
  );
  const python = readFileSync(REQUIREMENTS, "utf8").matchAll(/^([\w-]+)==/gm);
  const locked = new Set([
    ...Object.keys({ ...dependencies, ...devDependencies }),
    ...[...python].map(([, name = ""]) => name),
  ]);
  const named = lines.flatMap((line) => line.split(" ").slice(2));
  const missing = named.filter((name) => !/^(--|\.\/)/.test(name) && !locked.has(name));
  if (missing.length > 0)
    throw new Error(`${example}: not in the lock file: ${missing.join(", ")}`);
  return lines;
}
