import { textGroups } from "../../src/console/text/language.ts";
import { loadTexts } from "../../src/console/text/text.ts";

/** Importing this module loads all English texts, for tests that call the console's functions outside a browser. */
await loadTexts(...textGroups);
