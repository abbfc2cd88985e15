/** The whole front-end: sign-in, a list that follows changes, and three writes. It has no server, and no API key. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { createAppClient, type DataError, type IdentityUser } from "rowhouse/app";
import { useSession } from "rowhouse/react";
import type { Row } from "rowhouse/schema";
import type schema from "../schema/mod.ts";
import { SETTINGS } from "./settings.ts";

const app = createAppClient<typeof schema>(SETTINGS);
const cards = app.db.board_cards;
const field = { name: "title", "aria-label": "New card", placeholder: "New card", required: true };
const signIn = <input type="button" value="Sign in" onClick={() => app.login()} />;
const signOut = <input type="button" value="Sign out" onClick={() => void app.logout()} />;

function Board({ user: { id: me, role } }: { user: IdentityUser }) {
  const [rows, setRows] = useState<readonly Row<typeof schema, "board_cards">[]>([]);
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState<DataError>();
  const attempt = (call: Promise<unknown>) => call.then(() => setProblem(undefined), setProblem);
  const check = (id: string, done: boolean) => () => void attempt(cards.update(id, { done }));
  useEffect(() => {
    const stop = new AbortController();
    (async () => {
      for await (const page of cards.watch({ signal: stop.signal })) setRows(page.rows);
    })().catch((error) => stop.signal.aborted || setProblem(error));
    return () => stop.abort();
  }, []);
  return (
    <>
      <form action={() => void attempt(cards.create({ title: draft }).then(() => setDraft("")))}>
        <input {...field} value={draft} onChange={({ target }) => setDraft(target.value)} />
      </form>
      <p role="alert">{problem?.message}</p>
      {rows.map(({ id, title, done, author }) => (
        <form key={id} action={() => void attempt(cards.delete(id))}>
          <input type="checkbox" aria-label={title} checked={done} onChange={check(id, !done)} />
          {title} {(author === me || role === "admin") && <input type="submit" value="Delete" />}
        </form>
      ))}
      {problem?.code === "unauthenticated" ? signIn : signOut}
    </>
  );
}

function Start() {
  const { status, user, error } = useSession(app);
  if (status === "authenticated") return <Board key={user.id} user={user} />;
  if (status === "forbidden") return <p>Ask an administrator for a role. {signOut}</p>;
  return status === "loading" ? <p role="alert">{error?.message}</p> : signIn;
}

createRoot(document.getElementById("main") as HTMLElement).render(<Start />);
