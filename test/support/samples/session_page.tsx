/** A page with the React hooks of an app without a server: a form, the rows, and the session. @module */
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { type AppClientOptions, createAppClient } from "../../../src/sdk/app.ts";
import type { IdentityUser } from "../../../src/sdk/identity.ts";
import { useRows, useSession } from "../../../src/sdk/react.ts";
import type { schema } from "./app_client_schema.ts";

declare global {
  interface Window {
    /** The settings of the app. */
    options: AppClientOptions;
    app: typeof app;
  }
}

const app = createAppClient<typeof schema>(window.options);
window.app = app;
const { todos } = app.db;
const ONE = { select: ["title"], limit: 1 } as const;

function Page({ user }: { user: IdentityUser }) {
  const { status, error: unchecked } = useSession(app);
  const { page, error } = useRows(todos);
  const one = useRows(todos, ONE);
  const first = one.page?.rows[0];
  const [title, setTitle] = useState("");
  const [problem, setProblem] = useState("");
  const save = () =>
    todos.create({ title }).then(
      () => {
        setTitle("");
        setProblem("");
      },
      (failure: Error) => setProblem(failure.message),
    );
  return (
    <form action={() => void save()}>
      <output id="person">{user.email}</output>
      <output id="status">{status}</output>
      <input aria-label="Title" value={title} onChange={({ target }) => setTitle(target.value)} />
      <p role="alert">{problem}</p>
      <output id="failure">{(error ?? one.error ?? unchecked)?.message}</output>
      <output id="first">{first?.title}</output>
      <output id="columns">{Object.keys(first ?? {}).join()}</output>
      <ul>
        {page?.rows.map((row) => (
          <li key={row.id}>{row.title}</li>
        ))}
      </ul>
    </form>
  );
}

function Start() {
  const { status, user } = useSession(app);
  if (status === "authenticated" || status === "ended") return <Page key={user.id} user={user} />;
  return <output id="status">{status}</output>;
}

createRoot(document.getElementById("main") as HTMLElement).render(<Start />);
