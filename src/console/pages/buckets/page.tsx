import { route } from "../../route.ts";
import { BucketList } from "./bucket-list.tsx";
import { FilesPage } from "./files.tsx";

export default function BucketsPage() {
  const [name = ""] = route.value.rest;
  return name === "" ? <BucketList /> : <FilesPage key={name} name={name} />;
}
