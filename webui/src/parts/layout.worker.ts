/** Lays out a picture away from the page's own thread. */

import { layPicture, type LayoutRequest } from "../lib/force";

addEventListener("message", (event: MessageEvent<LayoutRequest & { id: number }>) => {
  postMessage({ id: event.data.id, places: layPicture(event.data) });
});
