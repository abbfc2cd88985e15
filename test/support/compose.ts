/** compose.yaml as data, with the values that a container engine would fill in. No engine is needed. @module */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { ROOT } from "./command.ts";
import type { DebianCluster } from "./debian_cluster.ts";

const Condition = v.picklist([
  "service_started",
  "service_healthy",
  "service_completed_successfully",
]);
const ComposeService = v.object({
  profiles: v.optional(v.array(v.string()), []),
  build: v.optional(v.string()),
  image: v.optional(v.string()),
  command: v.optional(v.array(v.string())),
  entrypoint: v.optional(v.array(v.string())),
  env_file: v.optional(v.array(v.object({ path: v.string(), required: v.boolean() })), []),
  environment: v.optional(v.record(v.string(), v.string()), {}),
  ports: v.optional(v.array(v.string()), []),
  depends_on: v.optional(v.record(v.string(), v.object({ condition: Condition })), {}),
  deploy: v.optional(v.object({ replicas: v.number() })),
  networks: v.array(v.string()),
  user: v.optional(v.string()),
  volumes: v.optional(v.array(v.string()), []),
  read_only: v.optional(v.boolean()),
  tmpfs: v.optional(v.array(v.string()), []),
  cap_drop: v.optional(v.array(v.string()), []),
  cap_add: v.optional(v.array(v.string()), []),
  security_opt: v.optional(v.array(v.string()), []),
  privileged: v.optional(v.boolean(), false),
});
const File = v.object({
  services: v.record(v.string(), ComposeService),
  configs: v.record(v.string(), v.object({ file: v.string() })),
  networks: v.record(v.string(), v.object({ internal: v.optional(v.boolean(), false) })),
});
export type ComposeService = v.InferOutput<typeof ComposeService> & { name: string };

const text = readFileSync(join(ROOT, "compose.yaml"), "utf8");
export const COMPOSE = { text, ...v.parse(File, Bun.YAML.parse(text)) };
export const SERVICES: readonly ComposeService[] = Object.entries(COMPOSE.services).map(
  ([name, service]) => ({ name, ...service }),
);

/** Fills in the variables of a service's environment. @throws {Error} a required variable has no value */
export function fillIn(
  environment: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const fill = (text: string) =>
    text.replace(
      /\$\{([A-Z_]+)(?::([?-])([^}]*))?\}/g,
      (_, name: string, mark: string, rest: string) => {
        const value = values[name] ?? "";
        if (value === "" && mark === "?") throw new Error(rest);
        return value === "" ? (rest ?? "") : value;
      },
    );
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, fill(value).replace("$$", "$")]),
  );
}

/** Runs init_logins.sh over TCP, as the PostgreSQL image does in an empty volume. */
export function runInitLogins(
  cluster: DebianCluster,
  passwords: Readonly<Record<string, string>>,
): void {
  const { port, username, password, pathname } = new URL(cluster.url);
  execFileSync("bash", [join(ROOT, "deploy/init_logins.sh")], {
    stdio: "pipe",
    env: {
      ...passwords,
      PATH: `/usr/lib/postgresql/15/bin:${process.env["PATH"]}`,
      PGHOST: "127.0.0.1",
      PGPORT: port,
      PGPASSWORD: decodeURIComponent(password),
      POSTGRES_USER: username,
      POSTGRES_DB: pathname.slice(1),
      SUPERUSER_SQL: join(ROOT, "deploy/superuser.sql"),
    },
  });
}
