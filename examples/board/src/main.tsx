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
const signIn = <input type="button" value="Sign in" onClick={() => app.login()} />;
const signOut = <input type="button" value="Sign out" onClick={() => void app.logout()} />;

function Board({ user: { id: me, role } }: { user: IdentityUser }) {
  const [rows, setRows] = useState<readonly Row<typeof schema, "board_cards">[]>([]);
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
      <form action={(form) => void attempt(cards.create({ title: `${form.get("title")}` }))}>
        <input name="title" aria-label="New card" placeholder="New card" required />
      </form>
      <p role="alert">{problem?.message}</p>
      {rows.map(({ id, title, done, author }) => (
        <form key={id} action={() => void attempt(cards.delete(id))}>
          <input type="checkbox" aria-label={title} checked={done} onChange={check(id, !done)} />
          <span>{title}</span>
          {(author === me || role === "admin") && <input type="submit" value="Delete" />}
        </form>
      ))}
      {problem?.code === "unauthenticated" ? signIn : signOut}
    </>
  );
}

function Start() {
  const session = useSession(app);
  if (session.status === "loading") return <p role="alert">{session.error?.message}</p>;
  if (session.status === "unauthenticated") return signIn;
  if (session.status === "forbidden") return <p>Ask an administrator for a role. {signOut}</p>;
  return <Board key={session.user.id} user={session.user} />;
}

createRoot(document.getElementById("main") as HTMLElement).render(<Start />);
