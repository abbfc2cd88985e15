/** Scripts of the Console's navigation: recent apps, the theme, sign-out with one click. @module */
import { element, requestPage } from "./dom.ts";

const MAX_RECENT = 5;
const APP = /^\/console\/apps\/([a-z0-9-]+)/;

export function startNavigation(): void {
  const navigation = document.querySelector<HTMLElement>("nav[data-visitor]");
  startTheme();
  startSignOut();
  if (navigation !== null) {
    showRecent(navigation);
    storeVisit(navigation);
  }
}

type Visited = { readonly name: string; readonly href: string };
const MAX_VISITED = 6;
/** Pages of one thing: of an app, a table, a row, a person, a push or a request. */
const THING =
  /^\/console\/(?:apps|people|tables|requests)\/[^/]+(?:\/(?:tables|pushes|rows)\/[^/]+)*$/;

function toStored(navigation: HTMLElement): string {
  return `recent-things ${navigation.dataset["visitor"]}`;
}

/** The things that this person has opened last in this tab since the last sign-out, the newest first, without the present page. */
export function listVisited(): readonly Visited[] {
  const navigation = document.querySelector<HTMLElement>("nav[data-visitor]");
  const text = navigation && sessionStorage.getItem(toStored(navigation));
  const visited: readonly Visited[] = JSON.parse(text ?? "[]");
  return visited.filter(({ href }) => href !== location.pathname).slice(0, MAX_VISITED - 1);
}

/** A page that does not exist is no thing. */
function storeVisit(navigation: HTMLElement): void {
  const { pathname: href } = location;
  if (!THING.test(href) || navigation.dataset["visitor"] === undefined) return;
  const parts = [
    document.querySelector("main h1")?.textContent,
    document.querySelector(".crumbs a:last-child")?.textContent?.replace("/", ""),
  ];
  const name = parts.map((part) => part?.trim() ?? "").join(" · ");
  const others = listVisited().filter((visited) => visited.href !== href);
  const all = [{ name, href }, ...others].slice(0, MAX_VISITED);
  sessionStorage.setItem(toStored(navigation), JSON.stringify(all));
}

/** The apps that this person has opened in this browser, newest first. */
function showRecent(navigation: HTMLElement): void {
  const stored = `recent-apps ${navigation.dataset["visitor"]}`;
  const [, current] = APP.exec(location.pathname) ?? [];
  const before = (localStorage.getItem(stored) ?? "").split(" ").filter((slug) => slug !== "");
  const recent =
    current === undefined ? before : [current, ...before.filter((slug) => slug !== current)];
  localStorage.setItem(stored, recent.slice(0, MAX_RECENT + 1).join(" "));
  const links = recent.filter((slug) => slug !== current).slice(0, MAX_RECENT);
  const section = navigation.querySelector<HTMLElement>(".recent");
  if (section === null || links.length === 0) return;
  section.hidden = false;
  section
    .querySelector("ul")
    ?.append(
      ...links.map((slug) =>
        element("li", {}, element("a", { href: `/console/apps/${slug}` }, slug)),
      ),
    );
}

function startTheme(): void {
  const choice = document.querySelector<HTMLSelectElement>("select[data-theme-choice]");
  if (choice === null) return;
  choice.value = localStorage.getItem("theme") ?? "system";
  const label = choice.closest("label");
  if (label !== null) label.hidden = false;
  choice.addEventListener("change", () => {
    if (choice.value === "system") {
      localStorage.removeItem("theme");
      delete document.documentElement.dataset["theme"];
    } else {
      localStorage.setItem("theme", choice.value);
      document.documentElement.dataset["theme"] = choice.value;
    }
  });
}

/** Sends the form of the sign-out page, which has the token of the session. */
function startSignOut(): void {
  const link = document.querySelector<HTMLAnchorElement>("a[data-sign-out]");
  link?.addEventListener("click", (event) => {
    event.preventDefault();
    void signOut(link.href).catch(() => location.assign(link.href));
  });
}

async function signOut(url: string): Promise<void> {
  const { page } = await requestPage(url);
  const form = page.querySelector<HTMLFormElement>("form[action='/sign-out']");
  if (form === null) return location.assign(url);
  const navigation = document.querySelector<HTMLElement>("nav[data-visitor]");
  if (navigation !== null) sessionStorage.removeItem(toStored(navigation));
  form.hidden = true;
  document.body.append(document.adoptNode(form));
  form.requestSubmit();
}
