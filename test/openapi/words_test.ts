/** Words that people bring from other products: the first result of the docs' search is the section about the subject. */
import { expect, test } from "bun:test";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

/** By the section, after `/docs/`; several sections can be about a subject. */
const WORDS: Readonly<Record<string, string>> = {
  "data#live-updates-preview": "realtime, real-time, subscriptions, subscribe, onSnapshot",
  "limits#presence-and-messages-between-browsers": "websocket, presence, broadcast",
  "limits#files-and-images": "storage, file upload, upload, bucket, S3, blob",
  "limits#webhooks": "webhook, webhooks, Zapier",
  "limits#edge-functions-and-hosting": "edge functions, serverless",
  "limits#sql-views-and-functions":
    "rpc, stored procedure, raw SQL, raw query, views, functions, psql",
  "limits#triggers-and-hooks": "triggers, hooks, plugins, custom endpoint, middleware",
  "limits#joins-and-embedded-rows": "joins, embedding, expand, populate",
  "data#related-rows-preview": "joins, many to many, foreign key, nested",
  "limits#transactions-over-several-requests": "transaction, transactions, atomic",
  "rows#import-a-file": "seed, seed data, import CSV",
  "rows#export-a-file": "export CSV",
  "limits#your-own-ids-and-automatic-columns":
    "soft delete, auto increment, created_at, updated_at, composite primary key",
  "push#the-journal": "migrations, migration files, drift",
  "limits#undoing-a-migration": "rollback, down migration, revert migration",
  "limits#rules-for-single-rows": "RLS, row level security, policies",
  browser: "RLS",
  "data#tables": "enum, unique constraint, default value, uuid, primary key",
  "limits#arrays-geometry-and-other-types": "array, PostGIS, money",
  "limits#full-text-search": "full text, full text search, vector, embeddings, fuzzy",
  "operating#backup": "backup, point in time recovery, PITR, pg_dump",
  "operating#restore": "restore",
  operating: "self host, self-hosting, production",
  "operating#install-with-docker-compose": "docker, container, kubernetes",
  "limits#data-in-the-browser": "CORS, anon key, service role, service key, publishable key",
  "limits#sign-up-and-other-ways-to-sign-in":
    "magic link, sign up, anonymous, phone auth, CAPTCHA, SAML",
  "identity#sign-in-by-your-provider": "social login, Google login, OAuth login, SSO",
  "identity#a-second-factor": "MFA, 2FA, TOTP",
  "limits#tokens-for-mobile-apps-and-command-lines": "JWT, access token, refresh token, OAuth",
  "limits#more-fields-of-a-person": "user metadata, user profile, organizations, auth.users",
  "operating#rate-limits": "rate limit, rate limiting",
  "data#list": "pagination, offset, hasMore",
  "data#conditions-order-and-selection-preview": "cursor, order by",
  "limits#upsert": "upsert, insert or update",
  "data#create-several": "bulk insert, bulk create",
  "data#groups-sums-and-totals-preview": "aggregate, group by, sum, average",
  "limits#schedules-and-queues": "cron, queue, background, scheduled",
  "limits#tenants-of-your-app": "multi tenant, multi-tenancy, tenants, workspaces",
  "limits#backup-of-one-app": "branching, preview database, clone app",
  "limits#offline-use": "offline, local first, PWA",
  "limits#a-hosted-service": "pricing, telemetry, cloud",
  "limits#graphql-grpc-and-other-languages": "GraphQL, Flutter, Swift",
  "limits#emails-of-your-app": "push notifications, newsletter",
  "identity#send-emails": "email templates, SMTP",
  "limits#rules-for-values": "check constraint, regex",
  "limits#a-history-of-rows": "change data capture, audit rows",
  "data#tags": "optimistic locking, ETag",
  "data#a-description-for-programs": "swagger, OpenAPI",
  moving: "Prisma, Drizzle, Firestore, Firebase, Directus, PostgREST, Appwrite",
  console: "admin panel, dashboard",
  node: "Next.js, Express",
};

const CASES = Object.entries(WORDS).flatMap(([section, words]) =>
  words.split(", ").map((word) => ({ word, section })),
);

/** A word that is the subject of two sections finds both among the first results. */
const FIRST = 3;

async function find(word: string): Promise<string[]> {
  const response = await fetch(`${service.url}/docs/search?${new URLSearchParams({ q: word })}`);
  const found = (await response.text()).matchAll(/<li><a href="\/docs\/([^"]+)">[^<]*<\/a> <span/g);
  return [...found].map(([, path = ""]) => path);
}

test("each word finds its section first", async () => {
  const lost: string[] = [];
  for (const { word, section } of CASES) {
    const first = (await find(word)).slice(0, FIRST);
    if (!first.includes(section)) lost.push(`${word}: ${section} is not among ${first}`);
  }
  expect(CASES.length).toBeGreaterThan(100);
  expect(lost).toEqual([]);
});
