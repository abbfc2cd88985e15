/** Loaded before the command: the driver as it is without the mark that its patch sets. @module */
import postgres from "postgres";

Reflect.deleteProperty(postgres, "rowhousePatch");
