/** Previews new values of many cells. The grid loads it when cells are pasted or filled: most visits need neither. @module */
export { showNewValues, showPasted } from "./grid/pasted.ts";
