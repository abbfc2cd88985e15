/** The whole front-end: sign-in, a list that follows changes, and three writes. It has no server, and no API key. */
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { createAppClient, type DataError, type IdentityUser } from "rowhouse/app";
import { useRows, useSession } from "rowhouse/react";
import type schema from "../schema/mod.ts";
import { SETTINGS } from "./settings.ts";

const app = createAppClient<typeof schema>(SETTINGS);
const cards = app.db.board_cards;
const field = { name: "title", "aria-label": "New card", placeholder: "New card", required: true };
const signIn = <input type="button" value="Sign in" onClick={() => app.login()} />;
const signOut = <input type="button" value="Sign out" onClick={() => void app.logout()} />;
/** In another tab, so that this one keeps what is typed. */
const signInAgain = (
  <a href={app.loginUrl()} target="_blank" rel="noopener">
    Sign in again
  </a>
);

function Board({ user: { id: me, role } }: { user: IdentityUser }) {
  const isEnded = useSession(app).status === "ended";
  const { page, error } = useRows(cards);
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState<DataError>();
  const attempt = (call: Promise<unknown>) => call.then(() => setProblem(undefined), setProblem);
  const check = (id: string, done: boolean) => () => void attempt(cards.update(id, { done }));
  return (
    <>
      <form action={() => void attempt(cards.create({ title: draft }).then(() => setDraft("")))}>
        <input {...field} value={draft} onChange={({ target }) => setDraft(target.value)} />
      </form>
      <p role="alert">{(problem ?? error)?.message}</p>
      {page?.rows.map(({ id, title, done, author }) => (
        <form key={id} action={() => void attempt(cards.delete(id))}>
          <fieldset disabled={author !== me && role !== "admin"}>
            <input type="checkbox" aria-label={title} checked={done} onChange={check(id, !done)} />
            {title} <input type="submit" value="Delete" />
          </fieldset>
        </form>
      ))}
      {isEnded ? signInAgain : signOut}
    </>
  );
}

function Start() {
  const { status, user, error } = useSession(app);
  if (status === "authenticated" || status === "ended") return <Board key={user.id} user={user} />;
  if (status === "forbidden") return <p>Ask an administrator for a role. {signOut}</p>;
  return status === "loading" ? <p role="alert">{error?.message}</p> : signIn;
}

createRoot(document.getElementById("main") as HTMLElement).render(<Start />);
