/** SVG paths on a 24 × 24 grid. Every icon needs a text beside it or an accessible name. */
const drawings = {
  overview: "M4 13h6V4H4v9Zm10 7h6v-9h-6v9ZM4 20h6v-3H4v3ZM14 4v3h6V4h-6Z",
  logs: "M5 6h14M5 12h14M5 18h9",
  buckets: "M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3Zm0 0 2 11c.3 1.2 2.8 2 6 2s5.700-.8 6-2l2-11",
  sql: "M4 6c0-1.100 3.600-2 8-2s8 .9 8 2-3.600 2-8 2-8-.9-8-2Zm0 0v12c0 1.100 3.600 2 8 2s8-.9 8-2V6M4 12c0 1.100 3.600 2 8 2s8-.9 8-2",
  config:
    "M4 7h10m4 0h2M4 17h2m4 0h10M14 4.500v5M6 14.500v5m0-5a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5Zm10-10a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5Z",
  tokens:
    "M15 9a1 1 0 1 0 0-.01M14 15a6 6 0 1 0-5.700-4.100L3 16.200V21h4.800v-2.400h2.400v-2.400h2.100L14 15Z",
  update: "M12 4v11m0 0-4-4m4 4 4-4M4 20h16",
  api: "m8 7-5 5 5 5m8-10 5 5-5 5M13.500 5l-3 14",
  upload: "M12 16V5m0 0-4 4m4-4 4 4M4 20h16",
  uploadFolder:
    "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7Zm9 9.500v-6m0 0-2.500 2.500m2.500-2.500 2.500 2.500",
  newFolder: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7Zm9 3.500v6m-3-3h6",
  newFile: "M7 3h7l5 5v11a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2Zm7 0v5h5M12 11v6m-3-3h6",
  drive: "M4 14 6 5h12l2 9v5H4v-5Zm0 0h16m-4 2.500h.01",
  folder: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7Z",
  file: "M7 3h7l5 5v11a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2Zm7 0v5h5",
  copy: "M9 9h10v11H9V9Zm0 6H5V4h10v5",
  expand: "m6 15 6-6 6 6",
  collapse: "m6 9 6 6 6-6",
  retry: "M19 12a7 7 0 1 1-2.100-5M19 4v4h-4",
  close: "m6 6 12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  plus: "M12 5v14M5 12h14",
  trash: "M4 7h16M10 11v6m4-6v6M6 7l1 13h10l1-13M9 7V4h6v3",
  up: "M12 20V5m0 0-6 6m6-6 6 6",
  down: "M12 4v15m0 0 6-6m-6 6-6-6",
  pause: "M8 5v14m8-14v14",
  play: "M7 5v14l12-7L7 5Z",
  check: "m5 12.500 5 5L19 7.500",
  warning: "M12 4 2.500 20h19L12 4Zm0 6v5m0 2.500h.01",
  external: "M14 4h6v6m0-6-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  edit: "M4 20h4L19 9l-4-4L4 16v4Z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5 12 5 5",
  out: "M10 4H5v16h5m4-12 4 4-4 4m4-4H9",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500Z",
  system: "M3 5h18v11H3V5Zm5 15h8m-4-4v4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2M3 12h2m14 0h2M5.600 5.600 7 7m10 10 1.400 1.400M5.600 18.400 7 17M17 7l1.400-1.400",
} as const;

export type IconName = keyof typeof drawings;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={drawings[name]} />
    </svg>
  );
}
