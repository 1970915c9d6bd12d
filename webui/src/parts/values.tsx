/** Values as text that nothing can break out of: isolated in direction, cut in length, opened on demand. */

import { useEffect, useState } from "react";
import type { Value } from "../api/shapes";
import { cutText, imageType, isBlob, isVector, sizeOfBlob, tellBytes, tellNumber, tellValue } from "../lib/formats";

const SHORT = 280;

export function Name({ text, most = 80 }: { text: string; most?: number }) {
  return (
    <bdi className="name" title={text.length > most ? cutText(text, 500) : undefined}>
      {text === "" ? "∅" : cutText(text, most)}
    </bdi>
  );
}

export function ShownValue({ value, most = SHORT }: { value: Value | undefined; most?: number }) {
  const [isOpen, setOpen] = useState(false);
  if (value === undefined || value === null) return <span className="null">null</span>;
  if (isBlob(value)) return <ShownBlob value={value} />;
  if (typeof value === "boolean") return <span className="literal">{String(value)}</span>;
  if (typeof value === "number") return <span className="literal">{String(value)}</span>;
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, isVector(value) ? 0 : 2);
  const short = tellValue(value, most);
  const isCut = isVector(value) ? value.length > 4 : whole.length > most;
  if (!isCut) return <bdi className="text">{whole === "" ? <span className="null">empty text</span> : typeof value === "string" ? whole : short}</bdi>;
  return (
    <span className="long">
      {isOpen ? <pre className="whole"><bdi>{whole}</bdi></pre> : <bdi className="text">{short}</bdi>}
      <button className="link" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        {isOpen ? "less" : `all ${tellNumber(whole.length)} characters`}
      </button>
    </span>
  );
}

/** A blob by its size; with a preview when its first bytes say that it is an image or short text. */
export function ShownBlob({ value }: { value: string }) {
  const size = sizeOfBlob(value);
  const [address, setAddress] = useState<string | null>(null);
  const head = readBytes(value, 64);
  const kind = imageType(head);
  useEffect(() => {
    if (!kind) return undefined;
    const made = URL.createObjectURL(new Blob([readBytes(value, size) as BlobPart], { type: kind }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [value, kind, size]);
  const text = kind ? null : tellText(head);
  return (
    <span className="blob">
      <span className="chip">blob · {tellBytes(size)}</span>
      {address && <img src={address} alt="preview of the blob" />}
      {text && <bdi className="quiet">“{text}{size > head.length ? "…" : ""}”</bdi>}
    </span>
  );
}

function readBytes(value: string, most: number): Uint8Array {
  try {
    const text = atob(value.slice("base64:".length, "base64:".length + Math.ceil(most / 3) * 4));
    return Uint8Array.from(text.slice(0, most), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function tellText(bytes: Uint8Array): string | null {
  if (bytes.length === 0 || bytes.some((byte) => byte < 9 || (byte > 13 && byte < 32))) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.slice(0, 60));
  } catch {
    return null;
  }
}
