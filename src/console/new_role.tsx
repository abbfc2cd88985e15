/** @jsxImportSource #html @jsxRuntime automatic */
/** The second step of forms that grant a role which no one has on the app: many such roles are misspelled. @module */

import type { Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { NamedRole } from "../records/actions/mod.ts";
import { readConsole } from "../records/console/mod.ts";
import { describeNewRole } from "../records/people/mod.ts";
import type { Visit } from "./enter.tsx";
import { renderCheck } from "./parts.tsx";

/** @throws {Problem} invalid_request — the role is new on the app, and the form does not confirm it */
export async function checkNewRole(visit: Visit, named: NamedRole): Promise<void> {
  if (visit.fields.has(toField(named))) return;
  const message = await describe(visit, named);
  if (message === undefined) return;
  throw new Problem("invalid_request", {
    message: `${message.replace(/[^?]$/, "$&.")} To grant it, select "Create the role"`,
  });
}

/** The confirmation, once the form was sent with a new role. */
export async function renderNewRole(visit: Visit, named: NamedRole): Promise<Part> {
  if (visit.fields.size === 0 || (await describe(visit, named)) === undefined) return false;
  const text = ["Create the role ", <b>{named.role}</b>];
  return renderCheck(toField(named), text, { isChecked: visit.fields.has(toField(named)) });
}

/** A form can grant several new roles. */
function toField({ role }: NamedRole): string {
  return `new_role ${role}`;
}

async function describe({ deps }: Visit, named: NamedRole): Promise<string | undefined> {
  const rules = deps.providers.list.flatMap(({ settings }) => settings.roles);
  return await describeNewRole({ ...named, rules }, async () => {
    const { roles } = await readConsole(deps, "list_app_roles", { app_slug: named.slug });
    return roles;
  });
}
