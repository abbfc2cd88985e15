/** The page: checks the session, then shows the list, the sign-in button, or a notice. @module */
import { createIdentityClient, type IdentityUser } from "rowhouse/identity";
import { element } from "./element.ts";
import { APP, IDENTITY_URL, SERVICE_URL } from "./settings.ts";
import { showTodos } from "./todos.ts";

const identity = createIdentityClient({ url: SERVICE_URL, identityUrl: IDENTITY_URL, app: APP });
const main = find("main");
const person = find("person");

try {
  await show();
} catch {
  // The session is unknown: show the error and a retry button.
  showWithButton([element("p", { class: "notice" }, "The service is unavailable.")], makeRetry());
}

async function show(): Promise<void> {
  if (location.pathname !== "/") return showMissing();
  const session = await identity.getSession();
  if (session.status === "unauthenticated") return showSignIn();
  showPerson(session.user);
  if (session.status === "forbidden") return showRejection();
  await showTodos(main);
}

function showSignIn(): void {
  showWithButton(
    [element("p", {}, "Sign in to see your list.")],
    element(
      "button",
      { type: "button", class: "main", onclick: () => identity.login() },
      "Sign in",
    ),
  );
}

function showRejection(): void {
  const says = "You are signed in, but you have no role on this app.";
  const todo = "Ask an administrator for access, then try again.";
  showWithButton(
    [element("p", { class: "notice" }, says), element("p", { class: "quiet" }, todo)],
    makeRetry(),
  );
}

function showMissing(): void {
  main.replaceChildren(
    element("p", {}, "Page not found."),
    element("p", {}, element("a", { href: "/" }, "Open your list")),
  );
}

function makeRetry(): HTMLButtonElement {
  return element("button", { type: "button", onclick: () => location.reload() }, "Try again");
}

/** Focuses the button, because it is the only action. */
function showWithButton(texts: readonly HTMLElement[], button: HTMLButtonElement): void {
  main.replaceChildren(...texts, button);
  button.focus();
}

function showPerson(user: IdentityUser): void {
  person.replaceChildren(
    element("span", {}, user.displayName ?? user.email),
    element("button", { type: "button", onclick: () => void identity.logout() }, "Sign out"),
  );
}

function find(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element "${id}"`);
  return found;
}
