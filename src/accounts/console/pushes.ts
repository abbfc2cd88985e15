/** Reads of pages about pushes, each one call on the Console's login. @module */
import { Problem } from "../../problem.ts";
import { type ConsoleDeps, callConsole, type PresentedCookies } from "../actions/action.ts";
import type { ConsoleVisitor } from "./apps.ts";
import type { ConsoleBuild, PageApp } from "./tables.ts";

type PushPage<Push> = { me: ConsoleVisitor; app: PageApp; builds: ConsoleBuild[]; push: Push };

/** A push in a list. */
export type ConsolePush = {
  seq: number;
  name: string;
  checksum: string;
  appliedAt: string;
  /** The key that pushed; null for an operator. */
  key: { keyId: string; name: string } | null;
  statements: number;
  /** The comment at the top of its file. */
  head: string;
};

/** A push with its declaration as JSON, and the declaration of the push before. */
export type PushView = Pick<ConsolePush, "seq" | "name" | "checksum" | "appliedAt" | "key"> & {
  sql: string;
  definition: string;
  before: string | null;
  isLast: boolean;
};

/** A push of an app, and the builds that it deferred. @throws {Problem} unknown_app; not_found */
export async function showConsolePush(
  deps: ConsoleDeps,
  cookies: PresentedCookies,
  { slug, seq }: { slug: string; seq: number },
): Promise<PushPage<PushView>> {
  const values = { app_slug: slug, wanted: seq };
  const page = await callConsole(deps, cookies, "console_show_push", values);
  const { push, ...rest } = page as PushPage<PushView | null>;
  if (push === null) throw new Problem("not_found");
  return { ...rest, push };
}
