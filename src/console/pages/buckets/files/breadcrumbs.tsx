import { FileName } from "../../../ui/visible-text.tsx";
import { join, namesIn } from "../path.ts";
import { linkToPlace } from "./place.ts";

export function Breadcrumbs({ bucket, path }: { readonly bucket: string; readonly path: string }) {
  const names = namesIn(path);
  const steps = [
    { name: bucket, path: "" },
    ...names.map((name, index) => ({ name, path: join(...names.slice(0, index + 1)) })),
  ];
  return (
    <nav aria-label="Folders" class="files-crumbs">
      <a href="#/buckets">Buckets</a>
      {steps.map((step, index) => (
        <span key={step.path}>
          <span aria-hidden="true" class="muted">
            /
          </span>
          <a
            href={linkToPlace(bucket, step.path)}
            aria-current={index === steps.length - 1 ? "page" : undefined}
          >
            <FileName name={step.name} />
          </a>
        </span>
      ))}
    </nav>
  );
}
