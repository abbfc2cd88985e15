/** A machine on which a developer starts a new app: with only npm and Node, or with only Bun. @module */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import type { Machine, RunOptions } from "../support/machine.ts";

const { devDependencies, version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const BUN = `bun@${devDependencies.bun}`;
const TARBALL = `../rowhouse/rowhouse-${version}.tgz`;

/** A machine's programs, and the commands that a reader of the README types on it. */
export type Shape = {
  name: string;
  /** Programs that the machine does not have. */
  lacks: readonly string[];
  /** Installs the repository's packages and packs the package. */
  pack: string;
  /** Creates a project with the package in an empty folder. */
  start: string;
  /** The prefix of each command's arguments. */
  rowhouse: string;
  bun: string;
  tsc: string;
  /** Installs Bun on the machine that serves. */
  installBun: string;
  /** Replacements in the commands of the pages for Node and React. */
  typed: readonly (readonly [displayed: RegExp, typed: string])[];
};

export const SHAPES: readonly Shape[] = [
  {
    name: "only npm and Node",
    lacks: ["bun", "bunx"],
    pack: `npx -y ${BUN} install && npx bun pm pack`,
    start: `npm init -y && npm install ${BUN} ${TARBALL}`,
    rowhouse: "npx rowhouse",
    bun: "npx bun",
    tsc: "npx tsc",
    installBun: `npm install --global --prefix /usr/local ${BUN}`,
    typed: [],
  },
  {
    name: "only Bun",
    lacks: ["node", "npm", "npx", "corepack"],
    pack: "bun install && bun pm pack",
    start: `bun init -y && bun add ${TARBALL}`,
    rowhouse: "bunx rowhouse",
    bun: "bun",
    tsc: "bunx tsc",
    installBun: "bun --version",
    typed: [
      [/^npm pkg .*$/gm, ""],
      [/^npm install/gm, "bun add"],
      [/^npx tsx/gm, "bun"],
      [/^npx/gm, "bunx"],
    ],
  },
];

/** Installs only the package, as in a project without Bun. */
export const START_WITHOUT_BUN = `npm init -y && npm install ${TARBALL}`;

export const HOME = "/home/developer";
const DEVELOPER = { account: "developer", folder: HOME } as const;
/** The developer's account, in the project's folder. */
export const AS_DEVELOPER: RunOptions = { ...DEVELOPER, folder: `${HOME}/my-app` };

/** Creates an account, leaves only the programs of the shape, and adds a checkout and an empty folder for the project. */
export async function equip(machine: Machine, { lacks }: Shape): Promise<void> {
  await machine.run(`useradd --create-home --shell /bin/bash ${DEVELOPER.account}`);
  const paths = lacks.map((name) => `{/usr/local,/usr,}/{bin,sbin}/${name}`);
  await machine.run(`rm -f ${paths.join(" ")}`);
  await (lacks.includes("node") ? installOwnBun(machine) : linkNode(machine));
  for (const name of lacks) await machine.run(`command -v ${name}`, { exits: 1 });
  await checkOut(machine, "rowhouse", DEVELOPER);
  await machine.run("mkdir my-app", DEVELOPER);
}

/** Installs the Bun of this process. */
async function installOwnBun(machine: Machine): Promise<void> {
  const input = readFileSync(process.execPath);
  await machine.run("cat >/usr/local/bin/bun && chmod 755 /usr/local/bin/bun", { input });
  await machine.run("ln -s bun /usr/local/bin/bunx");
}

/** Links Node if this machine has it in another folder than Debian's packages. */
async function linkNode(machine: Machine): Promise<void> {
  for (const name of ["node", "npm", "npx"])
    await machine.run(`command -v ${name} || ln -s '${Bun.which(name)}' /usr/local/bin/${name}`);
}

/** Copies the repository's files, including files that are not committed. */
export async function checkOut(machine: Machine, folder: string, as: RunOptions): Promise<void> {
  const list = "git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null";
  const { stdout } = spawnSync("bash", ["-c", `${list} | tar -c -T -`], {
    cwd: ROOT,
    maxBuffer: 1 << 27,
  });
  const unpack = `mkdir '${folder}' && tar -x --no-same-owner -C '${folder}'`;
  await machine.run(unpack, { ...as, input: stdout });
}

/** Starts a command that keeps running and waits until it prints `prints`. Returns its output until then. */
export async function startServer(
  machine: Machine,
  command: string,
  { log, prints, ...options }: RunOptions & { log: string; prints: string },
): Promise<string> {
  return await machine.run(
    `setsid env --default-signal=INT ${command} >${log}.log 2>&1 </dev/null & echo $! >${log}.pid
for _ in $(seq 600); do
  grep -q '${prints}' ${log}.log && { cat ${log}.log; exit; }
  kill -0 $(cat ${log}.pid) 2>/dev/null || break
  sleep 0.1
done
cat ${log}.log; exit 1`,
    options,
  );
}

/** Waits until the log of a server has a text. */
export async function waitForLog(
  machine: Machine,
  text: string,
  { log, ...as }: RunOptions & { log: string },
): Promise<void> {
  await machine.run(
    `for _ in $(seq 600); do grep -q '${text}' ${log}.log && exit; sleep 0.1; done; cat ${log}.log; exit 1`,
    as,
  );
}

/** Ends the server's process group like Ctrl-C on a terminal. */
export async function stopServer(machine: Machine, log: string, as: RunOptions): Promise<void> {
  await machine.run(
    `group=$(cat ${log}.pid); kill -INT -- -$group; while pgrep -g $group >/dev/null; do sleep 0.1; done`,
    as,
  );
}
