import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { loadWords } from "./language/load";
import { LOCALE, repairLanguage } from "./parts/locale";

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/said.css";

repairLanguage(navigator, LOCALE);
await loadWords();
const { App } = await import("./app");
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
