/** Sign-in and sign-out. A page that loses its session stays: a half-filled form is not lost. */
import { useSession } from "rowhouse-client/react";
import { identity } from "./identity.ts";
import { Todos } from "./todos.tsx";

export function App() {
  const session = useSession(identity);
  if (session.status === "loading" && session.error === undefined) return null;
  if (session.status === "loading")
    return (
      <button type="button" onClick={() => void session.check()}>
        Service unavailable. Try again
      </button>
    );
  if (session.status === "unauthenticated")
    return (
      <button type="button" onClick={() => identity.login()}>
        Sign in
      </button>
    );
  const { user } = session;
  return (
    <>
      {session.error !== undefined && <p role="status">The service is unavailable.</p>}
      {session.status === "ended" && (
        <a href={identity.loginUrl()} target="_blank" rel="noopener">
          Sign in again
        </a>
      )}
      <p>
        {user.displayName ?? user.email}{" "}
        <button type="button" onClick={() => void identity.logout()}>
          Sign out
        </button>
      </p>
      {session.status === "forbidden" ? <p>Ask an administrator for access.</p> : <Todos />}
    </>
  );
}
