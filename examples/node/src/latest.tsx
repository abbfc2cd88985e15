/** Live rows: the server sends the page first, then only the rows that changed. */
import { useLive } from "rowhouse-client/react";
import type { Page } from "./api.ts";

export function Latest() {
  const { page, error } = useLive<Page>("/api/latest");
  return (
    <section aria-label="Latest">
      {error && (
        <p role="status">{error.status === undefined ? "Connecting again" : error.message}</p>
      )}
      {page?.rows.map((todo) => (
        <p key={todo.id}>{todo.title}</p>
      ))}
    </section>
  );
}
