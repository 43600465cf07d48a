/**
 * What every element of the dashboard is made by (`jsxImportSource` in tsconfig.json and vite.config.ts).
 *
 * Nearly every text here was written by somebody else: names, types, errors, results. Each is made visible at the one
 * place that all of them pass, so that no page can forget it. What is typed into a field stays as it is.
 */
import * as react from "react/jsx-runtime";

import { visibleProps } from "./visible-props";

export { Fragment } from "react/jsx-runtime";
export type { JSX } from "react/jsx-runtime";

export const jsx: typeof react.jsx = (type, props, key) => react.jsx(type, visibleProps(props), key);
export const jsxs: typeof react.jsxs = (type, props, key) => react.jsxs(type, visibleProps(props), key);
