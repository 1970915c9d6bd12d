/** Who is logged in: the token lives in this tab's session storage, and goes nowhere but into a header. */

import { OmniGraphClient, OmniGraphError } from "../../../clients/typescript/omnigraph";

const TOKEN = "omnigraph.token";

export interface Session {
  client: OmniGraphClient;
  token: string | null;
}

export { OmniGraphError };

export function keptToken(): string | null {
  return sessionStorage.getItem(TOKEN);
}

export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, token);
}

export function openSession(token: string | null): Session {
  return { token, client: new OmniGraphClient(location.origin, token ?? undefined) };
}

/** Ask for what the generated client has no method for: a route that this server may not have. */
export async function callRoute<T>(session: Session, method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const sent: Record<string, string> = { ...headers };
  if (session.token !== null) sent.Authorization = `Bearer ${session.token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) });
  const told = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = (told ?? {}) as { error?: string; code?: string; retryable?: boolean; details?: Record<string, never> };
    throw new OmniGraphError(error.error ?? `the server answered with status ${answer.status}`, answer.status, error.code ?? "unavailable", error.retryable ?? false, error.details ?? {});
  }
  return told as T;
}

/** A key for one write, so that it happens once even when it is sent again. */
export function makeKey(): string {
  return `page-${crypto.randomUUID()}`;
}
