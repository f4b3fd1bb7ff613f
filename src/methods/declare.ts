import { declareOver } from "../rpc/method.ts";
import type { Services } from "../services.ts";

export const { method, subscription } = declareOver<Services>();
