/** Preloaded before a command, to remove the mark that the driver's patch sets. @module */
import postgres from "postgres";

Reflect.deleteProperty(postgres, "rowhousePatch");
