/** A database that an earlier release set up gets the tables and the code of this one, and then equals a new database. */
import { describe, expect, test } from "bun:test";
import { ADOPTED } from "../../src/db/migrations/mod.ts";
import { type Database, migrate, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";

const BASELINE = new TextDecoder().decode(
  Bun.zstdDecompressSync(await Bun.file("test/upgrade/baseline_7aa4ae30.sql.zst").bytes()),
);

/** As 7aa4ae30 did it. */
async function setUpBefore(admin: Database): Promise<void> {
  await admin.message(`${BASELINE}
    insert into rowhouse.service_migrations (number, name, checksum) values (1, 'baseline', '${ADOPTED[0]}');
    select 1`);
}

async function withEmpty<Result>(task: (admin: Database) => Promise<Result>): Promise<Result> {
  const empty = await makeEmptyDatabase();
  try {
    return await withDatabase(empty.url, task);
  } finally {
    await empty.drop();
  }
}

describe("a database of 7aa4ae30", () => {
  test("equals a new database after migrate", async () => {
    expect(`sha256:${new Bun.CryptoHasher("sha256").update(BASELINE).digest("hex")}`).toBe(
      ADOPTED[0] ?? "",
    );
    const [fresh, upgraded] = await Promise.all([
      withEmpty(async (admin) => {
        await migrate(admin);
        return await dumpCatalog(admin);
      }),
      withEmpty(async (admin) => {
        await setUpBefore(admin);
        expect((await migrate(admin)).applied).toEqual(["0002_code"]);
        return await dumpCatalog(admin);
      }),
    ]);
    expect(fresh["functions"]?.length).toBeGreaterThan(300);
    expect(upgraded).toEqual(fresh);
  });

  test("keeps its own record of the first number", async () => {
    const rows = await withEmpty(async (admin) => {
      await setUpBefore(admin);
      await migrate(admin);
      return await admin.query<{ number: number; name: string }>(
        "select number, name from rowhouse.service_migrations order by number",
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
    });
    expect(rows).toEqual([
      { number: 1, name: "baseline" },
      { number: 2, name: "0002_code" },
    ]);
  });
});
