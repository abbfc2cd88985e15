/** Requests pages of the reference with the tab's key, because links cannot send it. @module */
import { closeMenu } from "../docs_page.ts";
import { keyHeaders, type Opened, readKey } from "./key.ts";

const PART_IDS = ["menu", "content"] as const;
const PATH = /^\/docs(\/tables\/\w+)?$/;

let startContent = (): void => {};
/** The path of the open page. Another anchor on the same page loads no page. */
let openPath = location.pathname;

/** `start` starts the scripts of a new page. */
export function startPages(start: () => void): void {
  startContent = start;
  addEventListener("popstate", () => {
    if (location.pathname !== openPath) void openPage(location.href);
  });
  document.addEventListener("click", onClick);
  followReading();
}

/** Without a key, links work as usual. */
function onClick(event: MouseEvent): void {
  const { target } = event;
  const link = target instanceof Element ? target.closest("a") : null;
  if (link === null) return;
  if (link.closest("#menu") !== null) closeMenu();
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey);
  if (!isPlain || readKey() === undefined || link.origin !== location.origin) return;
  if (!PATH.test(link.pathname) || link.pathname === location.pathname) return;
  event.preventDefault();
  void openPage(link.href).then(({ isOpen }) => {
    if (!isOpen) return;
    history.pushState(null, "", link.href);
    if (link.hash === "") scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  });
}

/** Shows the page at an address, requested with the tab's key. */
export async function openPage(url: string): Promise<Opened> {
  const { status, page } = await request(url);
  if (page === null) return { isOpen: false, status };
  for (const id of PART_IDS) {
    const next = page.getElementById(id);
    if (next !== null)
      document.getElementById(id)?.replaceChildren(...document.adoptNode(next).childNodes);
  }
  document.title = page.title;
  const { hash, pathname } = new URL(url);
  openPath = pathname;
  startContent();
  followReading();
  if (hash !== "") document.getElementById(hash.slice(1))?.scrollIntoView();
  return { isOpen: true, status };
}

type FetchedPage = { status: number; page: Document | null };

/** XMLHttpRequest parses the document. With fetch(), a script would turn text into markup, which the page's policy forbids. */
function request(url: string): Promise<FetchedPage> {
  const sent = new XMLHttpRequest();
  sent.open("GET", url);
  sent.responseType = "document";
  for (const [name, value] of Object.entries(keyHeaders())) sent.setRequestHeader(name, value);
  return new Promise((resolve) => {
    sent.addEventListener("loadend", () =>
      resolve({ status: sent.status, page: sent.status === 200 ? sent.responseXML : null }),
    );
    sent.send();
  });
}

let reading: IntersectionObserver | undefined;

/** Marks the visible endpoint in the menu. */
function followReading(): void {
  reading?.disconnect();
  reading = new IntersectionObserver(
    (entries) => {
      const [entered] = entries.filter(({ isIntersecting }) => isIntersecting);
      if (entered !== undefined) markInMenu(entered.target.id);
    },
    { rootMargin: "-10% 0px -80% 0px" },
  );
  for (const part of document.querySelectorAll(".endpoint[id], #introduction, #errors"))
    reading.observe(part);
}

function markInMenu(id: string): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("#menu a[href*='#']")) {
    const isRead = link.hash === `#${id}` && link.pathname === location.pathname;
    if (isRead) link.setAttribute("aria-current", "true");
    else if (link.pathname === location.pathname) link.removeAttribute("aria-current");
  }
}
