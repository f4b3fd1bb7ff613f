import { walkInBrowser } from "./walk.ts";

walkInBrowser("every view and dialog can be read by everybody, also in the other language", "zh");
