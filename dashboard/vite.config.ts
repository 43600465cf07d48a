import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const YARD = process.env.TASKYARD_URL_FOR_DASHBOARD ?? "http://127.0.0.1:8420";

// What most pages use is one file: each of forty small ones would cost the browser and the server a request of its own.
// A chart brings its library, which few pages need.
const SHARED = /\/src\/(actions|api|parts\/(?!chart))|\/node_modules\/(@tanstack|lucide-react)\//;

// What runs before the words of the reader's language are there. The file of the shared parts must not be among it: a part
// says its words when it is loaded, and would say them in English.
const FIRST =
  /\/src\/(language\/say|text\/|parts\/(locale|visible|obeyed)\.)|\/node_modules\/(react|react-dom|scheduler)\/|vite\/preload-helper/;

function fileOf(id: string): string | undefined {
  if (FIRST.test(id)) return "first";
  return SHARED.test(id) ? "parts" : undefined;
}

export default defineConfig({
  plugins: [react({ jsxImportSource: "@/text" })],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  build: {
    outDir: process.env.TASKYARD_DASHBOARD_OUT ?? "dist",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy knows no data: URLs for scripts, styles or fonts.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { manualChunks: fileOf } },
  },
  // The host is kept, so that the server's check of Origin against Host holds for the page as it does in earnest.
  server: { host: "127.0.0.1", proxy: { "/api": YARD, "/openapi.json": YARD } },
});
