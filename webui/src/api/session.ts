/** Who is logged in: the token lives in this tab's session storage, and goes nowhere but into a header. */

import { OmniGraphClient, OmniGraphError } from "../../../clients/typescript/omnigraph";

const TOKEN = "omnigraph.token";
const OWN = "omnigraph.";

/** The server did not answer: the network, or the server, is not there. */
export class Unreachable extends Error {}

/** Asking one server. A token that is not known any more can be replaced, and all that is on the page stays. */
export interface Session {
  readonly token: string | null;
  readonly client: OmniGraphClient;
  enter: (token: string) => void;
}

export { OmniGraphError };

export function openSession(refuse: () => void): Session {
  let token = sessionStorage.getItem(TOKEN);
  const ask: typeof fetch = async (address, given) => {
    const headers = new Headers(given?.headers);
    if (token !== null) headers.set("Authorization", `Bearer ${token}`);
    const answer = await fetch(address, { ...given, headers }).catch((error: unknown) => {
      if (given?.signal?.aborted) throw error;
      throw new Unreachable("There is no answer. Is the server running, and this machine connected?");
    });
    if (answer.status === 401) refuse();
    return answer;
  };
  return {
    get token() {
      return token;
    },
    client: new OmniGraphClient(location.origin, undefined, ask),
    enter: (given) => {
      token = given;
      keep(TOKEN, given);
    },
  };
}

/** Forget the token, and what was kept for the one who has logged out. */
export function leave(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(OWN)) sessionStorage.removeItem(name);
  location.assign("/");
}

/** Keep a text in this tab; what the browser has no room for is not kept. */
export function keep(name: string, text: string): void {
  try {
    sessionStorage.setItem(name, text);
  } catch {
    sessionStorage.removeItem(name);
  }
}

/** A key for one write, so that it happens once even when it is sent again. */
export function makeKey(): string {
  // Not `randomUUID`: browsers have it only where the address is https or this machine.
  return `page-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
