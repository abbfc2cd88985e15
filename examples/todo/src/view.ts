/** Filters and sorts todos: as a query for the service, or on the page if the service does not support it. */
import { matches, type OrderKey, type Where } from "rowhouse/data";
import type { Row } from "rowhouse/schema";
import type schema from "../../../schema/mod.ts";

export type Todo = Row<typeof schema, "todos">;

export type View = {
  /** A part of the title. */
  readonly search: string;
  readonly isOpenOnly: boolean;
  readonly isByDueDate: boolean;
};

export type TodoQuery = {
  readonly where: Where<Todo>;
  readonly orderBy: readonly OrderKey<Todo>[];
};

/** The view as a query of the data client. */
export function toQuery({ search, isOpenOnly, isByDueDate }: View): TodoQuery {
  // A star matches any characters.
  const part = search.trim().replaceAll("*", "");
  return {
    where: {
      ...(part === "" ? {} : { title: { ilike: `*${part}*` } }),
      ...(isOpenOnly ? { status: { not: { eq: "done" } } } : {}),
    },
    orderBy: isByDueDate ? [{ due_at: "asc" }] : [],
  };
}

/** Applies the view to todos that the service returned without filtering. */
export function arrange(todos: readonly Todo[], view: View): Todo[] {
  const { where } = toQuery(view);
  const listed = todos.filter((todo) => matches(todo, where));
  if (!view.isByDueDate) return listed;
  return listed.sort((a, b) => toMoment(a) - toMoment(b));
}

/** Todos without a date come last. */
function toMoment({ due_at }: Todo): number {
  return due_at === null ? Number.MAX_SAFE_INTEGER : Date.parse(due_at);
}
