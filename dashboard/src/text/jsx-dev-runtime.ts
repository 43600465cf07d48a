/** The same as jsx-runtime, for the development server and for tests. */
import * as react from "react/jsx-dev-runtime";

import { visibleProps } from "./visible-props";

export { Fragment } from "react/jsx-dev-runtime";
export type { JSX } from "react/jsx-dev-runtime";

export const jsxDEV: typeof react.jsxDEV = (type, props, ...rest) => react.jsxDEV(type, visibleProps(props), ...rest);
