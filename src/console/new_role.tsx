/** @jsxImportSource #html @jsxRuntime automatic */
/** The second step of forms that grant a role which no one has on the app: many such roles are misspelled. @module */
import { readConsole } from "../accounts/console/mod.ts";
import { describeNewRole } from "../accounts/people/mod.ts";
import type { Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { Visit } from "./enter.tsx";

export type NamedRole = { slug: string; role: string };

/** @throws {Problem} invalid_request — the role is new on the app, and the form does not confirm it */
export async function checkNewRole(visit: Visit, named: NamedRole): Promise<void> {
  if (visit.fields.get("new_role") === named.role) return;
  const message = await describe(visit, named);
  if (message === undefined) return;
  throw new Problem("invalid_request", {
    message: `${message.replace(/[^?]$/, "$&.")} To grant it, select "Create the role"`,
  });
}

/** The confirmation, once the form was sent with a new role. */
export async function renderNewRole(visit: Visit, named: NamedRole): Promise<Part> {
  if (visit.fields.size === 0 || (await describe(visit, named)) === undefined) return false;
  const isChecked = visit.fields.get("new_role") === named.role;
  return (
    <label class="check">
      <input type="checkbox" name="new_role" value={named.role} checked={isChecked} />
      <span>
        Create the role <b>{named.role}</b>
      </span>
    </label>
  );
}

async function describe({ deps }: Visit, named: NamedRole): Promise<string | undefined> {
  const rules = deps.providers.list.flatMap(({ settings }) => settings.roles);
  return await describeNewRole({ ...named, rules }, async () => {
    const { roles } = await readConsole(deps, "list_app_roles", { app_slug: named.slug });
    return roles;
  });
}
