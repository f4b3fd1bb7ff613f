import { addOverlay } from "../../overlays.tsx";
import { route } from "../../route.ts";
import { FilesPage } from "./files/files.tsx";
import { BucketList } from "./list/bucket-list.tsx";
import { UploadPanel } from "./uploads/upload-panel.tsx";

// Uploads go on when this page is left.
addOverlay(UploadPanel);

export default function BucketsPage() {
  const [name = ""] = route.value.rest;
  return name === "" ? <BucketList /> : <FilesPage key={name} name={name} />;
}
