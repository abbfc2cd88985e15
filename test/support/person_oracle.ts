/**
 * What a person gets must not depend on rows that the person does not see: random requests to two apps that differ only in such rows.
 * Tables, rules, indexes and the rows that the person sees are random, and the same in both.
 *
 * @module
 */
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { mintPersonKey } from "./minted_key.ts";
import { freshName } from "./push.ts";
import { makeRandom, pick, type Random } from "./query_fuzz.ts";
import type { Call, TestApp, TestResponse, TestService } from "./service.ts";

export type OracleOptions = {
  readonly seed: number;
  /** Rows that the person sees, and rows that only the second app has. */
  readonly seen: number;
  readonly unseen: number;
  readonly requests: number;
  /** The rule and the indexes; default: random. */
  readonly rule?: RuleName;
  readonly indexes?: readonly IndexColumns[];
  /** Only pages of all rows, as without the preview of conditions. */
  readonly isPlain?: boolean;
};

type IndexColumns = readonly [string, ...string[]];
const INDEXES: readonly IndexColumns[] = [
  ...([["owner", "id"], ["team", "id"], ["amount"], ["score"], ["place"], ["status"]] as const),
  ...([["due"], ["owner", "amount"], ["team", "amount"], ["status", "amount"]] as const),
  ...([
    ["owner", "status", "amount"],
    ["isOpen", "amount"],
    ["amount", "place"],
  ] as const),
];

/** The rules, and the same as conditions of SQL: `$1` is the app, `$2` the person. */
const MINE = { memberOf: "members" } as const;
const IS_MINE =
  "exists (select from data.MEMBERS as m where m.app_id = $1 and m.person = $2 and m.team = r.team)";
const RULES = {
  own: { read: [{ owner: "me" }], sql: "r.owner = $2" },
  ownOpen: { read: [{ owner: "me", isOpen: true }], sql: `r.owner = $2 and r."isOpen"` },
  status: { read: [{ status: "done" }], sql: "r.status = 'done'" },
  statuses: { read: [{ status: ["done", "lost"] }], sql: "r.status in ('done', 'lost')" },
  place: { read: [{ place: "a" }], sql: "r.place = 'a'" },
  noAmount: { read: [{ amount: null }], sql: "r.amount is null" },
  score: { read: [{ score: 5 }], sql: "r.score = 5" },
  team: { read: [{ team: MINE }], sql: IS_MINE },
  readable: {
    read: [{ team: { readable: true } }],
    sql: "exists (select from data.TEAMS as m where m.app_id = $1 and m.id = r.team and m.lead = $2)",
  },
  any: {
    read: [{ owner: "me" }, { team: MINE }, { status: "lost", isOpen: true }],
    sql: `(r.owner = $2 or ${IS_MINE} or r.status = 'lost' and r."isOpen")`,
  },
} as const;
type RuleName = keyof typeof RULES;
export const ORACLE_RULES = Object.keys(RULES) as RuleName[];

/** A request whose answers differ. */
export type Leak = { readonly request: string; readonly seed: number; readonly answers: string[] };
export type OracleOutcome = {
  readonly leaks: readonly Leak[];
  readonly requests: number;
  /** How many requests had each status. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly rule: RuleName;
};

/** Compares the answers of the two apps. */
export async function compareUnseen(
  service: TestService,
  options: OracleOptions,
): Promise<OracleOutcome> {
  const random = makeRandom(options.seed);
  const world = await openWorld(service, random, options);
  const leaks: Leak[] = [];
  const statuses: Record<number, number> = {};
  let requests = 0;
  for (let n = 0; n < options.requests; n++) {
    let { path, ...call } = options.isPlain ? drawPage(random, world) : drawRequest(random, world);
    for (let pages = 0; pages < 4; pages++) {
      const found = await Promise.all(
        world.apps.map(({ key }) => service.call(undefined, path, { ...call, key })),
      );
      const answers = found.map((each, at) => describe(each, world.apps[at]?.id ?? ""));
      const [first, second] = answers;
      const [{ status, json }] = found as [TestResponse];
      statuses[status] = (statuses[status] ?? 0) + 1;
      requests++;
      if (first !== second) {
        const request = `${call.method ?? "GET"} ${path} by ${world.rule} with ${JSON.stringify(world.indexes)}`;
        leaks.push({ request, seed: options.seed, answers });
        break;
      }
      const { next } = Object(json) as { next?: string | null };
      if (typeof next !== "string") break;
      path = `${path.replace(/&(after|offset)=[^&]*/, "")}&after=${next}`;
    }
  }
  return { leaks, requests, statuses, rule: world.rule };
}

const HEADERS = ["content-type", "link", "retry-after", "cache-control", "preference-applied"];

function describe({ status, headers, text }: TestResponse, app: string): string {
  const shown = HEADERS.map((name) => headers.get(name) ?? "");
  const body = text.replaceAll(app, "APP").replace(/"requestId":"[^"]+"/, "");
  return `${status} ${shown.join(" ")} ${body}`;
}

type World = {
  readonly apps: readonly { readonly id: string; readonly key: string }[];
  readonly items: string;
  readonly lines: string;
  readonly rule: RuleName;
  readonly indexes: readonly IndexColumns[];
  readonly person: string;
  /** The person's, one that the person reads as its lead, and another one. */
  readonly teams: readonly string[];
};

async function openWorld(
  service: TestService,
  random: Random,
  { seen, unseen, ...given }: OracleOptions,
): Promise<World> {
  const rule = given.rule ?? pick(random, ORACLE_RULES);
  const indexes = given.indexes ?? INDEXES.filter(() => random(5) < 2);
  const [items, teams, members, lines] = ["items", "teams", "members", "lines"].map((name) =>
    freshName(name),
  ) as [string, string, string, string];
  const { read } = RULES[rule];
  const isInherited = random(2) === 0;
  // Rules name tables.
  const renamed = JSON.parse(JSON.stringify(read).replaceAll('"members"', `"${members}"`));
  const table = t.model({
    owner: t.uuid().required(),
    team: t.ref(teams),
    status: t.enum(["open", "done", "lost"]).required(),
    place: t.string(),
    amount: t.integer(),
    score: t.number(),
    due: t.date(),
    isOpen: t.boolean().required(),
    note: t.string(),
  });
  const indexed = indexes.reduce((model, columns) => Object(model).index(...columns), table);
  const schema = defineSchema({
    [teams]: t
      .model({ name: t.string(), lead: t.uuid() })
      .index("name")
      .allow("member", { read: { lead: "me" } }),
    [members]: t.model({ person: t.uuid().required(), team: t.ref(teams).required() }),
    [items]: indexed.allow("member", { read: renamed, update: renamed, delete: renamed }),
    [lines]: t
      .model({ item: t.ref(items), owner: t.uuid(), amount: t.integer(), note: t.string() })
      .index("item", "amount")
      .allow("member", { read: isInherited ? { item: { readable: true } } : { owner: "me" } }),
  });
  const person = crypto.randomUUID();
  const made: TestApp[] = [];
  for (let n = 0; n < 2; n++) {
    const app = await service.makeApp(schema);
    await setAppSwitch(service.service, app.slug, ["browser", true]);
    made.push(app);
  }
  const [fewer, more] = made as [TestApp, TestApp];
  const { admin } = service.service;
  const ids = Array.from({ length: 3 }, () => Bun.randomUUIDv7());
  const sees = RULES[rule].sql.replaceAll("MEMBERS", members).replaceAll("TEAMS", teams);
  const of = (app: TestApp, sql: string) =>
    sql.replaceAll("$1", `'${app.id}'::uuid`).replaceAll("$2", `'${person}'::uuid`);
  const fill = (app: TestApp, count: number, isSeen: boolean) =>
    of(
      app,
      `select setseed(${(random(1000) / 1000).toFixed(3)});
      insert into data.${items} (app_id, id, owner, team, status, place, amount, score, due, "isOpen", note)
      select r.* from (select $1 as app_id, gen_random_uuid() as id,
        case when random() < ${isSeen || rule === "ownOpen" ? 0.9 : 0.2} then $2 else gen_random_uuid() end as owner,
        (array['${ids.join("','")}', null]::uuid[])[1 + floor(random() * 4)::int4] as team,
        (array['open', 'done', 'lost'])[1 + floor(random() * 3)::int4]::data.${items}__status__enum as status,
        (array['a', 'b', repeat('c', 80), null])[1 + floor(random() * 4)::int4] as place,
        case when random() < 0.7 then floor(random() * 100)::int8 end as amount,
        case when random() < 0.8 then floor(random() * 8) end as score,
        case when random() < 0.8 then date '2026-01-01' + floor(random() * 30)::int4 end as due,
        random() < 0.5 as "isOpen", (array['x', 'y', null])[1 + floor(random() * 3)::int4] as note
        from generate_series(1, ${(isSeen ? 20 : 3) * count}) as n) as r
      where ${isSeen ? "" : "not"} coalesce(${sees}, false) limit ${count}`,
    );
  for (const app of made)
    await admin.message(
      of(
        app,
        `insert into data.${teams} (app_id, id, name, lead)
        values ($1, '${ids[0]}', 'mine', null), ($1, '${ids[1]}', 'read', $2), ($1, '${ids[2]}', 'other', null);
      insert into data.${members} (app_id, id, person, team) values ($1, gen_random_uuid(), $2, '${ids[0]}');
      select 1`,
      ),
    );
  const copy = (table: string, columns: string) =>
    `insert into data.${table} (app_id, ${columns}) select '${more.id}', ${columns}
      from data.${table} where app_id = '${fewer.id}'`;
  const addLines = `insert into data.${lines} (app_id, id, item, owner, amount)
    select $1, gen_random_uuid()`;
  await admin.message(
    [
      fill(fewer, seen, true),
      of(
        fewer,
        `${addLines}, r.id, $2, n from (select id from data.${items} as r where app_id = $1
        order by id limit 30) as r, generate_series(1, 3) as n`,
      ),
      copy(items, 'id, owner, team, status, place, amount, score, due, "isOpen", note'),
      copy(lines, "id, item, owner, amount"),
      fill(fewer, 20, false),
      fill(more, unseen, false),
      of(
        more,
        `insert into data.${teams} (app_id, id, name)
        select $1, gen_random_uuid(), 'mine' from generate_series(1, ${unseen})`,
      ),
      of(
        more,
        `${addLines}, r.id, gen_random_uuid(), n % 5 from generate_series(1, ${unseen}) as n,
        (select id from data.${items} as r where app_id = $1 and ${isInherited ? "not" : ""} coalesce(${sees}, false)
          order by id limit 1) as r`,
      ),
      `analyze data.${items}`,
      "select 1",
    ].join(";\n"),
    { timeoutMs: 60_000 },
  );
  const apps = [];
  for (const app of made)
    apps.push({
      id: app.id,
      key: await mintPersonKey(admin, { app: app.id, person, role: "member" }),
    });
  for (const { key } of apps) service.secrets.add(key);
  return { apps, items, lines, rule, indexes, person, teams: ids };
}

type Request = Call & { readonly path: string };

function drawPage(random: Random, { items }: World): Request {
  const limit = pick(random, ["0", "1", "20", "59", "60", "1000"]);
  return { path: `/v1/data/db/${items}?limit=${limit}&offset=${random(3) * 30}` };
}

function drawRequest(random: Random, world: World): Request {
  const { items, lines } = world;
  const at = `/v1/data/db/${items}`;
  const where = Array.from({ length: random(3) }, () => drawCondition(random, world));
  const kind = random(10);
  if (kind === 0) {
    const by = pick(random, ["status", "isOpen", "place", "team", "amount", "score"]);
    const of = pick(random, ["", "&sum=amount", "&max=due", "&min=score"]);
    return { path: `${at}/groups?${[`by=${by}${of}`, ...where].join("&")}` };
  }
  if (kind <= 2) {
    const query = ["dryRun=true", ...(where.length === 0 ? ["all=true"] : where)].join("&");
    const part = random(2) === 0 ? "&limit=3" : "";
    const path = `${at}?${query}${part}`;
    return kind === 1 ? { path, method: "DELETE" } : { path, method: "PATCH", json: { note: "z" } };
  }
  const order = drawOrder(random);
  const limit = pick(random, ["1", "3", "20", "100"]);
  const rest = [`order=${order}`, `limit=${limit}`, ...where];
  if (random(8) === 0) rest.push(`offset=${random(4)}`);
  else if (random(4) === 0) rest.push(`after=${drawCursor(random, order)}`);
  if (random(5) === 0) {
    const related = `select=id,amount,${lines}(id,amount)&${lines}.limit=2&${lines}.order=${pick(random, ["amount", "amount.desc"])}`;
    rest.push(related);
  }
  const count = random(4) === 0 ? { headers: { prefer: "count=exact" } } : {};
  return { path: `${at}?${rest.join("&")}`, ...count };
}

function drawCondition(random: Random, { person, teams }: World): string {
  const amount = () => random(110) - 5;
  const conditions = [
    () => `amount=gte.${amount()}`,
    () => `amount=lt.${amount()}`,
    () => `amount=eq.${amount()}`,
    () => `amount=in.(${amount()},${amount()},${amount()})`,
    () => "amount=is.null",
    () => "amount=not.is.null",
    () => `score=gte.${random(9)}`,
    () => `score=eq.${random(9)}`,
    () => `due=gt.2026-01-${String(1 + random(31)).padStart(2, "0")}`,
    () => `place=eq.${pick(random, ["a", "b", "zz", "c".repeat(80)])}`,
    () => `place=like.${pick(random, ["a*", "*c", "c*", "*b*"])}`,
    () => `status=eq.${pick(random, ["open", "done", "lost"])}`,
    () => "status=in.(open,lost)",
    () => `isOpen=eq.${random(2) === 0}`,
    () => "note=eq.nothing",
    () => `team=eq.${pick(random, teams)}`,
    () => `owner=eq.${random(2) === 0 ? person : crypto.randomUUID()}`,
    () => `team.name=eq.${pick(random, ["mine", "read", "other"])}`,
    () => `or=(amount.gt.${amount()},status.eq.done)`,
  ];
  return pick(random, conditions)();
}

const ORDERS = [
  ...["id", "id.desc", "amount", "amount.desc", "score", "place", "place.desc", "due.desc"],
  ...["status,amount", "amount,place", "note", "isOpen,amount"],
];

function drawOrder(random: Random): string {
  return pick(random, ORDERS);
}

/** A cursor that the person makes, at any value. */
function drawCursor(random: Random, order: string): string {
  const keys = order.split(",");
  const isDescending = keys.at(-1)?.endsWith(".desc") === true;
  const named = keys.map((key) => (key.includes(".") ? key : `${key}.asc`));
  const values: Record<string, () => string> = {
    id: () => crypto.randomUUID(),
    amount: () => String(random(110)),
    score: () => String(random(9)),
    place: () => pick(random, ["a", "b", "bb"]),
    due: () => "2026-01-15",
    status: () => pick(random, ["open", "done"]),
    note: () => "x",
    isOpen: () => "true",
  };
  const all = named.some((key) => key.startsWith("id."))
    ? named
    : [...named, `id.${isDescending ? "desc" : "asc"}`];
  const cursor = [all.join(","), ...all.map((key) => values[key.split(".")[0] ?? ""]?.() ?? "")];
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}
