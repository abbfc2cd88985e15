import { functionOf } from "./functions.ts";
import { proofOf } from "./proof.ts";
import type { TestApp, TestService } from "./service.ts";

export type MeasuredList = {
  readonly schema: unknown;
  readonly table: string;
  readonly endpoint?: "query" | "groups";
};

/** Returns the buffers that a call of the query or groups function and its nested calls read. */
export async function measureBuffers(
  service: TestService,
  app: TestApp,
  {
    schema,
    table,
    endpoint = "query",
    plan,
    values,
  }: MeasuredList & { plan: string; values: readonly string[] },
): Promise<number> {
  const name = JSON.stringify(functionOf(schema, table, endpoint));
  const list = `{${values.map((value) => JSON.stringify(value)).join(",")}}`;
  const [row] = await service.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json)
    select api.${name}($1, ${proofOf(app.key)}, $2, $3::text::text[], 8388608, '')`,
    [app.id, plan, list],
  );
  const found = row?.["QUERY PLAN"][0]?.Plan;
  return (found?.["Shared Hit Blocks"] ?? 0) + (found?.["Shared Read Blocks"] ?? 0);
}
