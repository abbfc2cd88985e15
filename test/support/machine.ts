/**
 * A machine of its own: the files of this one, with a network and processes of its own. Nothing that is written there
 * stays, and nothing that runs there outlives it, so that a test may do what an operator does as root.
 *
 * @module
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asRoot } from "./as_root.ts";

export type Machine = {
  /**
   * What commands of bash say, once they have ended.
   *
   * @throws {Error} with what they said — they did not end with `exits`, by default 0
   */
  run: (commands: string, options?: RunOptions) => Promise<string>;
  /** Writes a file and the folders above it. */
  write: (path: string, text: string) => Promise<void>;
  stop: () => Promise<void>;
};

export type RunOptions = {
  folder?: string;
  env?: Readonly<Record<string, string>>;
  /** Who runs them; default root. */
  account?: string;
  /** On the network of this machine, such as for installing packages. */
  isOnline?: boolean;
  exits?: number;
  input?: string | Uint8Array<ArrayBuffer>;
};

/** What a machine's account has on its PATH, and nothing more of this one's. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** How this machine reaches the registry of packages. */
const PASSED_ON = ["NPM_CONFIG_REGISTRY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

/**
 * In mounts, a network and a table of processes of its own: the root is an overlay in memory over this one's. It is there
 * until its input ends, and so also ends with a test run that is killed.
 */
const SETUP = `set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/root/tmp"
ip link set lo up
exec unshare --root="$1/root" --wd=/ bash -c 'echo ready; exec 3<&0; cat <&3 & wait $!'`;

export async function startMachine(): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-machine-"));
  const spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child"];
  const holder = Bun.spawn(asRoot("unshare", ...spaces, "bash", "-c", SETUP, "machine", folder), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { value } = await holder.stdout.getReader().read();
  if (value === undefined) throw new Error("Cannot make a machine: see above");
  const pid = findInit(holder.pid);
  const run: Machine["run"] = async (commands, options = {}) => {
    const { exits = 0, input } = options;
    const output = Bun.file(join(folder, crypto.randomUUID()));
    const child = Bun.spawn(toTerms(pid, commands, options), {
      stdin: input === undefined ? "ignore" : new Blob([input]),
      // A file: a server that is left running would keep a pipe open.
      stdout: output,
      stderr: "inherit",
    });
    const code = await child.exited;
    const said = await output.text();
    if (code === exits) return said;
    throw new Error(`Ended with ${code}: ${commands}\n${said}`);
  };
  return {
    run,
    write: async (path, text) => {
      await run(`mkdir -p "$(dirname '${path}')" && cat >'${path}'`, { input: text });
    },
    stop: async () => {
      await holder.stdin.end();
      await holder.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The process that is the machine's first: bash, below sudo and unshare. */
function findInit(pid: number): number {
  if (readFileSync(`/proc/${pid}/comm`, "utf8") === "bash\n") return pid;
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  return findInit(Number(child));
}

function toTerms(pid: number, commands: string, options: RunOptions): string[] {
  const { folder = "/", env = {}, account = "root", isOnline = false } = options;
  const home = account === "root" ? "/root" : `/home/${account}`;
  const settings = { PATH, HOME: home, LANG: "C.UTF-8", ...readPassedOn(), ...env };
  return asRoot(
    ...["nsenter", `--target=${pid}`, "--mount", "--pid", ...(isOnline ? [] : ["--net"])],
    ...["--root", "--wd", "--"],
    ...["setpriv", `--reuid=${account}`, `--regid=${account}`, "--init-groups", "--"],
    ...["env", "--ignore-environment", `--chdir=${folder}`],
    ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    ...["bash", "-c", `exec 2>&1\nset -e -o pipefail\n${commands}`],
  );
}

function readPassedOn(): Record<string, string> {
  const set = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { NODE_EXTRA_CA_CERTS: CERTIFICATES, ...Object.fromEntries(set) };
}
