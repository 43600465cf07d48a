import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import typescript from "typescript-eslint";

// What an agent wrote is text and never markup.
const markup = [
  { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Show it as text." },
  { selector: "AssignmentExpression[left.property.name=/^(innerHTML|outerHTML)$/]", message: "Show it as text." },
];
// The language of a browser may be any text, and Intl throws at most of them.
const formatting = [
  { selector: "MemberExpression[object.name='Intl']", message: "Use parts/format: it has a locale that is safe." },
  { selector: "MemberExpression[property.name=/^toLocale/]", message: "Use parts/format: it has a locale that is safe." },
];

export default typescript.config(
  { ignores: ["dist", "made"] },
  ...typescript.configs.strictTypeChecked,
  a11y.flatConfigs.recommended,
  hooks.configs.flat["recommended-latest"],
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-restricted-syntax": ["error", ...markup, ...formatting],
      // What scrolls can be focused, or it could not be scrolled by keys.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { roles: ["log", "region", "tabpanel"], tags: [] }],
      // It is about a compiler that is not used here.
      "react-hooks/incompatible-library": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    },
  },
  {
    files: ["src/parts/format.ts", "src/parts/locale.ts", "src/language/say.ts", "src/**/*.test.ts"],
    rules: { "no-restricted-syntax": ["error", ...markup] },
  },
);
