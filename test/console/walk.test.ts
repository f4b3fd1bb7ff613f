import { walkInBrowser } from "./walk.ts";

walkInBrowser("every view and dialog can be read by everybody, in any colours, size and language", "en");
