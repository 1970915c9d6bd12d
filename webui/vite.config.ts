import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  worker: { format: "es" },
  build: {
    outDir: "../src/omnigraph/server/page/files",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    rollupOptions: {
      output: {
        manualChunks(id: string) {
          if (/node_modules\/(react|react-dom|scheduler)\//.test(id)) return "react";
          if (/node_modules\/(@codemirror|@lezer|@marijn|style-mod|crelt|w3c-keyname)\//.test(id)) return "editor";
          return undefined;
        },
      },
    },
  },
  server: { proxy: { "/graphs": "http://127.0.0.1:8080", "/healthz": "http://127.0.0.1:8080" } },
});
