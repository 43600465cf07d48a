import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { LOCALE, repairLanguage } from "./parts/locale";

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/said.css";

repairLanguage(navigator, LOCALE);
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
