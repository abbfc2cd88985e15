/** Dragging over a time axis selects several steps and opens the page of their changes. A single step is a link. @module */

export function startAxes(): void {
  for (const drawing of document.querySelectorAll<SVGElement>("svg[data-axis]"))
    startAxis(drawing, [...drawing.querySelectorAll<SVGAElement>("a")]);
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
