/** The whole front-end: sign-in, a list that follows changes, and three writes. It has no server, and no API key. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { createAppClient, type IdentityUser, type SessionState } from "rowhouse/app";
import type { Row } from "rowhouse/schema";
import type schema from "../schema/mod.ts";
import { SETTINGS } from "./settings.ts";

const app = createAppClient<typeof schema>(SETTINGS);
const cards = app.db.board_cards;

function Board({ user }: { user: IdentityUser }) {
  const [rows, setRows] = useState<readonly Row<typeof schema, "board_cards">[]>([]);
  const [problem, setProblem] = useState("");
  const attempt = (call: Promise<unknown>) => call.catch((error) => setProblem(`${error}`));
  const check = (id: string, done: boolean) => () => void attempt(cards.update(id, { done }));
  const isOwn = (author: string) => author === user.id || user.role === "admin";
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      for await (const page of cards.watch({ signal: stop.signal })) setRows(page.rows);
    };
    follow().catch((error) => stop.signal.aborted || setProblem(`${error}`));
    return () => stop.abort();
  }, []);
  return (
    <>
      <form action={(form) => void attempt(cards.create({ title: `${form.get("title")}` }))}>
        <input name="title" aria-label="New card" required />
      </form>
      <p role="alert">{problem}</p>
      {rows.map(({ id, title, done, author }) => (
        <form key={id} action={() => void attempt(cards.delete(id))}>
          <input type="checkbox" aria-label={title} checked={done} onChange={check(id, !done)} />
          {title} {isOwn(author) && <input type="submit" value="Delete" />}
        </form>
      ))}
    </>
  );
}

function Start() {
  const [session, setSession] = useState<SessionState>();
  useEffect(() => void app.getSession().then(setSession), []);
  if (session?.status === "authenticated") return <Board user={session.user} />;
  if (session?.status === "forbidden") return <p>Ask an administrator for a role.</p>;
  return session && <input type="button" value="Sign in" onClick={() => app.login()} />;
}

createRoot(document.getElementById("main") as HTMLElement).render(<Start />);
