/** Sets up production on a machine with docs/install.md: its blocks in order, as an operator pastes them. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readBlocks } from "../docs/blocks.ts";
import { ROOT } from "../support/command.ts";
import type { Machine } from "../support/machine.ts";
import { AS_DEVELOPER, type Shape, startServer } from "./developer.ts";

/** Secrets by their placeholders on the page. */
const secrets = new Map<string, string>();

function toSecret(placeholder: string): string {
  const secret = secrets.get(placeholder) ?? crypto.randomUUID().replaceAll("-", "");
  secrets.set(placeholder, secret);
  return secret;
}

const SECTION = "## One machine";
const PROGRAM = "/opt/rowhouse";

/** A step of the page: writes a file, or runs SQL or commands. */
type Step = {
  kind: "file" | "append" | "sql" | "sh";
  /** The file, or the account that runs the SQL. */
  target: string;
  text: string;
};

/** Commands after a file is written. With systemd, Debian's packages would run them. */
const AFTER: Readonly<Record<string, string>> = {
  "/etc/rowhouse/serve.env": "chmod 600 /etc/rowhouse/serve.env",
  "/etc/rowhouse/admin.env": "chmod 600 /etc/rowhouse/admin.env",
  "/etc/postgresql/15/main/postgresql.conf": "pg_ctlcluster 15 main restart",
  "/etc/pgbouncer/userlist.txt": inBackground(
    "runuser -u postgres -- pgbouncer /etc/pgbouncer/pgbouncer.ini",
  ),
  "/etc/nginx/conf.d/rowhouse.conf": "nginx -q -t && nginx",
};

/** Runs the whole section and returns the output of its blocks. @throws {Error} a step failed */
export async function operate(machine: Machine): Promise<string> {
  await prepare(machine);
  let output = "";
  let settings = "";
  for (const { kind, target, text } of readSteps()) {
    if (kind === "sql") output += await machine.run(toPsql(target), { input: text });
    if (kind === "append") await machine.run(`cat >>'${target}'`, { input: text });
    if (kind === "file") await machine.write(target, text);
    if (kind === "sh") {
      const command = 'rowhouse() { bun run --silent rowhouse "$@"; }';
      output += await machine.run(`${command}\n${settings}\n${text}`, {
        folder: PROGRAM,
        isOnline: /\bbun install\b/.test(text),
      });
      settings += /^set -a;.*$/m.exec(text)?.[0] ?? "";
    }
    if (target.endsWith(".service")) await startUnit(machine, text);
    await machine.run(AFTER[target] ?? "true");
  }
  return output;
}

/** Returns the steps of the section. */
function readSteps(): Step[] {
  const page = readFileSync(join(ROOT, "docs/install.md"), "utf8");
  const [, rest = ""] = page.split(`${SECTION}\n`);
  const section = rest.split(/^## /m)[0] ?? "";
  const lines = section.split("\n");
  return readBlocks(section).map(({ line, language, code }) => {
    const before = readParagraph(lines.slice(0, line - 1));
    const text = code.replace(/\b(?:[A-Z]+_PASSWORD|THE_[A-Z_]+)\b/g, toSecret);
    return { ...toTarget(language, before), text };
  });
}

/** Returns the paragraph before a block, without a comment about the block. */
function readParagraph(lines: readonly string[]): string {
  const text = lines.filter((line) => !line.startsWith("<!--")).join("\n");
  return text.trimEnd().split("\n\n").at(-1) ?? "";
}

function toTarget(language: string, before: string): Pick<Step, "kind" | "target"> {
  if (language === "sh") return { kind: "sh", target: "" };
  if (language === "sql")
    return { kind: "sql", target: /\bsuperuser\b/.test(before) ? "postgres" : "rowhouse_admin" };
  const file = [...before.matchAll(/`(\/etc\/[\w./-]+)`/g)].at(-1)?.[1];
  if (file !== undefined) return { kind: "file", target: file };
  if (before.includes("`postgresql.conf`"))
    return { kind: "append", target: "/etc/postgresql/15/main/postgresql.conf" };
  throw new Error(`The page does not state the target of the ${language} after: ${before}`);
}

function toPsql(account: string): string {
  const psql = "psql --no-psqlrc --quiet --set ON_ERROR_STOP=1";
  return account === "postgres"
    ? `runuser -u postgres -- ${psql}`
    : `PGPASSWORD='${toSecret("ADMIN_PASSWORD")}' ${psql} --host 127.0.0.1 --username rowhouse_admin rowhouse`;
}

function inBackground(command: string): string {
  return `setsid ${command} >>/var/log/walk.log 2>&1 </dev/null &`;
}

/** Creates the conditions of the section: a cluster as Debian's packages create it, host names, and certificates. */
async function prepare(machine: Machine): Promise<void> {
  const names = "example.org api.example.org id.example.org wiki.example.org";
  await machine.run(`
rm -rf /etc/postgresql/15/main /var/lib/postgresql/15/main
pg_createcluster 15 main --start
printf '127.0.0.1 ${names}\\n' >>/etc/hosts
mkdir -p /etc/ssl/example.org && cd /etc/ssl/example.org
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj '/CN=A certificate authority'
openssl req -newkey rsa:2048 -nodes -keyout privkey.pem -out request.pem -subj /CN=example.org
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out certificate.pem \\
  -extfile <(printf 'subjectAltName=DNS:api.example.org,DNS:id.example.org')
cat certificate.pem ca.pem >fullchain.pem
cp ca.pem /usr/local/share/ca-certificates/walk.crt
update-ca-certificates`);
}

/** Starts a unit with its account, rights and settings, as systemd would. */
async function startUnit(machine: Machine, unit: string): Promise<void> {
  const read = (name: string) => {
    const value = new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];
    if (value === undefined) throw new Error(`The unit does not set ${name}`);
    return value;
  };
  const account = read("User");
  const rights = `--reuid=${account} --regid=${account} --clear-groups --no-new-privs --bounding-set=-all`;
  await machine.write(
    "/usr/local/bin/start-unit",
    `set -e
cd '${read("WorkingDirectory")}'
ulimit -n ${read("LimitNOFILE")} || ulimit -n "$(ulimit -Hn)"
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /tmp
set -a; . '${read("EnvironmentFile")}'; set +a
exec setpriv ${rights} -- ${read("ExecStart")}
`,
  );
  const issues = await machine.run("systemd-analyze verify /etc/systemd/system/rowhouse.service");
  if (issues !== "") throw new Error(issues);
  await machine.run(inBackground("unshare --mount bash /usr/local/bin/start-unit"));
  await machine.run(
    `curl -sS --fail --retry 100 --retry-delay 1 --retry-all-errors --retry-max-time 120 -o /dev/null http://127.0.0.1:9090/ready 2>/dev/null || { cat /var/log/walk.log; exit 1; }`,
  );
}

/** Replaces nginx by Caddy with the page's sample. Caddy's own authority signs the certificates. */
export async function replaceProxy(machine: Machine): Promise<string> {
  const options = "{\n  local_certs\n  skip_install_trust\n}\n";
  await machine.run(`
nginx -s quit
while pgrep nginx >/dev/null; do sleep 0.1; done
printf '${options}' | cat - /etc/caddy/Caddyfile >/tmp/Caddyfile
${inBackground("caddy run --adapter caddyfile --config /tmp/Caddyfile")}`);
  const root = "/root/.local/share/caddy/pki/authorities/local/root.crt";
  const retry = "--retry 100 --retry-delay 1 --retry-all-errors --retry-max-time 120";
  return await machine.run(
    `curl -s --fail ${retry} --cacert ${root} https://id.example.org/login || { cat /var/log/walk.log; exit 1; }`,
  );
}

/** Starts a second service on the same machine from the developer's package, and returns a key of its app `wiki`. */
export async function startStaging(machine: Machine, { rowhouse }: Shape): Promise<string> {
  const input = "create database rowhouse_staging owner rowhouse_admin;";
  await machine.run(toPsql("postgres"), { input });
  const toUrl = (login: string, secret: string) =>
    `postgres://${login}:${toSecret(secret)}@127.0.0.1:5432/rowhouse_staging`;
  const env = {
    PORT: "8790",
    DATABASE_URL: toUrl("rowhouse_login", "LOGIN_PASSWORD"),
    IDENTITY_SECRET: toSecret("THE_IDENTITY_SECRET"),
  };
  const serving = { ...env, ADMIN_DATABASE_URL: toUrl("rowhouse_push_login", "PUSH_PASSWORD") };
  const admin = { ...env, ADMIN_DATABASE_URL: toUrl("rowhouse_admin", "ADMIN_PASSWORD") };
  const run = (command: string) =>
    machine.run(`${rowhouse} ${command}`, { ...AS_DEVELOPER, env: admin });
  await run("migrate");
  await run("admin create-app wiki");
  const server = { ...AS_DEVELOPER, env: serving, log: "staging", prints: '"listening"' };
  await startServer(machine, `${rowhouse} serve`, server);
  const output = await run("admin issue-key wiki --scope schema:push,data:read,data:write");
  return /^rh_\S+$/m.exec(output)?.[0] ?? output;
}
