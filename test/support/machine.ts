/**
 * A machine with the files of this machine, and with its own network and processes. Changes to files are discarded, and
 * processes end with the machine. A test can therefore run an operator's commands as root.
 *
 * @module
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asRoot } from "./as_root.ts";

export type Machine = {
  /**
   * Runs bash commands to their end and returns their output.
   *
   * @throws {Error} with the output, if the exit code is not `exits` (default 0)
   */
  run: (commands: string, options?: RunOptions) => Promise<string>;
  write: (path: string, text: string) => Promise<void>;
  stop: () => Promise<void>;
};

export type RunOptions = {
  folder?: string;
  env?: Readonly<Record<string, string>>;
  /** The account that runs the commands; default root. */
  account?: string;
  /** Uses the network of this machine, for example to install packages. */
  isOnline?: boolean;
  exits?: number;
  input?: string | Uint8Array<ArrayBuffer>;
};

/** The PATH of the machine's accounts. Nothing else of this machine's environment is passed on. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** Variables that reach the package registry from this machine. */
const PASSED_ON = ["NPM_CONFIG_REGISTRY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

/**
 * Runs in its own mounts, network and process table. The root is an overlay in memory over this machine's root. The machine
 * ends with its input, so that it also ends if the test run is killed.
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
    const child = Bun.spawn(toCommand(pid, commands, options), {
      stdin: input === undefined ? "ignore" : new Blob([input]),
      // A file, because a server that keeps running would keep a pipe open.
      stdout: output,
      stderr: "inherit",
    });
    const code = await child.exited;
    const text = await output.text();
    if (code === exits) return text;
    throw new Error(`Exited with ${code}: ${commands}\n${text}`);
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

/** Returns the first process of the machine: bash, a child of sudo and unshare. */
function findInit(pid: number): number {
  if (readFileSync(`/proc/${pid}/comm`, "utf8") === "bash\n") return pid;
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  return findInit(Number(child));
}

function toCommand(pid: number, commands: string, options: RunOptions): string[] {
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
