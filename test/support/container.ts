/** Builds the Dockerfile's image with Debian's tools, without an engine or an image registry, and starts containers. @module */
import { execFileSync, type StdioOptions } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { asRoot } from "./as_root.ts";
import { ROOT } from "./command.ts";

const Config = v.object({
  User: v.string(),
  Env: v.array(v.string()),
  Entrypoint: v.array(v.string()),
  Cmd: v.array(v.string()),
  WorkingDir: v.string(),
  StopSignal: v.string(),
  Healthcheck: v.object({ Test: v.array(v.string()) }),
});
const Inspected = v.object({
  Docker: v.object({ config: Config }),
  Manifest: v.pipe(
    v.string(),
    v.parseJson(),
    v.object({ layers: v.array(v.object({ size: v.number() })) }),
  ),
});

export type Image = {
  config: v.InferOutput<typeof Config>;
  /** Bytes of each layer, unpacked. The first is the base image's. */
  layers: readonly number[];
  /** The root folder of a container. */
  root: string;
  /** Starts a container with the account, root and rights of compose.yaml, on this machine's network. */
  start: (command: readonly string[], env?: Readonly<Record<string, string>>) => Container;
  /** Writes it as an OCI archive. */
  save: (path: string) => void;
  remove: () => void;
};
export type Container = Bun.Subprocess<"ignore", "pipe", "pipe">;

const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** Variables that reach the package registry from this machine. A build needs the same values. */
const PASSED_ON = ["NPM_CONFIG_REGISTRY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;

export function buildImage(): Image {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-image-"));
  const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
  const buildah = (...args: string[]) =>
    runAsRoot("buildah", [...store, "--storage-driver", "vfs", ...args]);
  const build = ["bud", "--isolation", "chroot", "--format", "docker", "--pull-never"];
  buildah(...build, "--tag", `docker.io/${readBaseName()}`, makeBase(join(folder, "base")));
  buildah(...build, "--tag", "rowhouse", ROOT);
  const { Docker, Manifest } = v.parse(
    Inspected,
    JSON.parse(buildah("inspect", "--type", "image", "rowhouse")),
  );
  const root = buildah("mount", buildah("from", "--pull-never", "rowhouse").trim()).trim();
  return {
    config: Docker.config,
    layers: Manifest.layers.map(({ size }) => size),
    root,
    start: (command, env = {}) => startContainer(command, { root, env, config: Docker.config }),
    save: (path) => void buildah("push", "rowhouse", `oci-archive:${path}`),
    remove: () => void runAsRoot("rm", ["-rf", folder]),
  };
}

/** Whether this machine has the tools of {@linkcode buildImage}. */
export const canBuildImage = ["buildah", "debootstrap"].every((name) => Bun.which(name) !== null);

/** Returns the build folder of a substitute for the base image: Debian, and the Bun of this process. */
function makeBase(folder: string): string {
  const root = join(folder, "root");
  mkdirSync(folder);
  runAsRoot("debootstrap", ["--variant=minbase", "bookworm", root]);
  const unused = ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"];
  runAsRoot("rm", ["-rf", ...unused.map((path) => join(root, path))]);
  runAsRoot("install", ["-D", process.execPath, join(root, "usr/local/bin/bun")]);
  const lines = ["FROM scratch", "COPY root /", ...toEnvironment(process.env)];
  if (existsSync(CERTIFICATES)) {
    runAsRoot("install", ["-D", "-m", "644", CERTIFICATES, join(root, CERTIFICATES)]);
    lines.push(`ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`);
  }
  writeFileSync(join(folder, "Dockerfile"), `${lines.join("\n")}\n`);
  return folder;
}

function toEnvironment(env: Readonly<Record<string, string | undefined>>): string[] {
  return PASSED_ON.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [`ENV ${name}=${JSON.stringify(value)}`];
  });
}

function readBaseName(): string {
  const name = /^FROM (\S+)$/m.exec(readFileSync(join(ROOT, "Dockerfile"), "utf8"))?.[1];
  if (name === undefined) throw new Error("The Dockerfile has no last FROM");
  return name;
}

type ContainerOptions = Pick<Image, "config" | "root"> & { env: Readonly<Record<string, string>> };

/** Enters a container: its root is read-only except /tmp, and no program in it can gain rights. */
const ENTER = `set -e
mount -o bind,ro "$1" "$1"
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
exec setpriv --no-new-privs unshare --root="$1" --wd="$2" --setgid="$3" --setuid="$4" -- env -i "\${@:5}"`;

function startContainer(
  command: readonly string[],
  { config, root, env }: ContainerOptions,
): Container {
  const [uid = "", gid = ""] = config.User.split(":");
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const inside = [config.WorkingDir, gid, uid, ...config.Env, ...settings, ...command];
  return Bun.spawn(asRoot("unshare", "--mount", "bash", "-c", ENTER, "enter", root, ...inside), {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function runAsRoot(name: string, args: readonly string[]): string {
  const [command = name, ...rest] = asRoot(name, ...args);
  return execFileSync(command, rest, { encoding: "utf8", maxBuffer: 1 << 26, stdio: STDIO });
}

const STDIO: StdioOptions = ["ignore", "pipe", "pipe"];
