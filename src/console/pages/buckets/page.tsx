import { route } from "../../route.ts";
import { FilesPage } from "./files/files.tsx";
import { BucketList } from "./list/bucket-list.tsx";

export default function BucketsPage() {
  const [name = ""] = route.value.rest;
  return name === "" ? <BucketList /> : <FilesPage key={name} name={name} />;
}
