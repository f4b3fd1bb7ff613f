import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

const overlays = signal<readonly ComponentType[]>([]);

/** Adds a component that is shown on every page, for work that continues when its page is left. */
export function addOverlay(overlay: ComponentType): void {
  overlays.value = [...overlays.value, overlay];
}

export function Overlays() {
  return overlays.value.map((Overlay, at) => <Overlay key={at} />);
}
