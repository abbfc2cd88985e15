/**
 * Dragging over a time axis selects several steps and opens the page of their changes. A single step is a link. The read-out above
 * has the values of a step: below the pointer, or by the keys of a slider.
 *
 * @module
 */

export function startAxes(): void {
  for (const drawing of document.querySelectorAll<SVGElement>("svg[data-axis]")) {
    startAxis(drawing, [...drawing.querySelectorAll<SVGAElement>("a")]);
    const readout = drawing.closest("section")?.querySelector<HTMLElement>("[data-readout]");
    if (readout) startReadout(readout, drawing);
  }
}

/** How many steps a key moves. */
const MOVES: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

function startReadout(readout: HTMLElement, drawing: SVGElement): void {
  const steps = [...drawing.querySelectorAll("rect")];
  const texts = steps.map((step) => {
    const title = step.querySelector("title");
    // The browser's tooltip would repeat the read-out.
    title?.remove();
    return (title?.textContent ?? "").replaceAll("\n", " · ");
  });
  let position = Number(readout.dataset["readout"]);
  const show = (next: number): void => {
    steps[position]?.removeAttribute("data-selected");
    position = Math.min(Math.max(next, 0), steps.length - 1);
    steps[position]?.setAttribute("data-selected", "");
    const text = texts[position] ?? "";
    readout.textContent = text;
    readout.ariaValueNow = String(position);
    readout.ariaValueText = text;
  };
  readout.role = "slider";
  readout.tabIndex = 0;
  readout.ariaLabel = "Step of the chart";
  readout.ariaValueMin = "0";
  readout.ariaValueMax = String(steps.length - 1);
  show(position);
  drawing.addEventListener("pointermove", ({ target }) => {
    if (target instanceof SVGRectElement) show(steps.indexOf(target));
  });
  readout.addEventListener("keydown", (event) => {
    const link = steps[position]?.closest<SVGAElement>("a");
    if (event.key === "Enter" && link) location.assign(link.href.baseVal);
    const move = MOVES[event.key];
    if (move === undefined) return;
    event.preventDefault();
    show(position + move);
  });
}

function startAxis(drawing: SVGElement, steps: readonly SVGAElement[]): void {
  let first: number | undefined;
  const findStep = ({ clientX }: PointerEvent): number => {
    const { left, width } = drawing.getBoundingClientRect();
    const position = Math.floor(((clientX - left) / width) * steps.length);
    return Math.min(Math.max(position, 0), steps.length - 1);
  };
  const mark = (last: number | undefined): void => {
    for (const [position, step] of steps.entries())
      step.toggleAttribute("data-selected", last !== undefined && isBetween(position, first, last));
  };
  // By default, the browser drags the link.
  drawing.addEventListener("dragstart", (event) => event.preventDefault());
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") first = findStep(event);
  });
  document.addEventListener("pointermove", (event) => {
    if (first !== undefined) mark(findStep(event));
  });
  document.addEventListener("pointerup", (event) => {
    if (first === undefined) return;
    const last = findStep(event);
    mark(undefined);
    const [begin, end] = [steps[Math.min(first, last)], steps[Math.max(first, last)]];
    const isSpan = first !== last;
    first = undefined;
    if (isSpan && begin !== undefined && end !== undefined) open(begin, end);
  });
}

function isBetween(position: number, first = position, last = position): boolean {
  return position >= Math.min(first, last) && position <= Math.max(first, last);
}

function open(begin: SVGAElement, end: SVGAElement): void {
  const url = new URL(begin.href.baseVal, location.href);
  const to = new URL(end.href.baseVal, location.href).searchParams.get("to");
  if (to !== null) url.searchParams.set("to", to);
  location.assign(url);
}
