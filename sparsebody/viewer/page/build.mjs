// Bundle src/ into bundle.js: node build.mjs NODE_MODULES. The banner holds a hash of the sources, by which
// tests see that the bundle is theirs.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.argv[2]);
const { build } = createRequire(join(modules, "esbuild", "package.json"))("esbuild");

const files = ["build.mjs", "package.json", "package-lock.json"].concat(
  readdirSync(join(here, "src")).sort().map((name) => `src/${name}`),
);
const hash = createHash("sha256");
for (const name of files) hash.update(`${name}\n`).update(readFileSync(join(here, name)));

const licenses = ["three", "fflate"].map((name) => {
  const { version } = JSON.parse(readFileSync(join(modules, name, "package.json")));
  return `${name} ${version}\n\n${readFileSync(join(modules, name, "LICENSE"), "utf8").trim()}`;
});
const banner = `/*!\nsparsebody page, made by \`make viewer\`; sources sha256 ${hash.digest("hex")}\n\n`
  + `It contains:\n\n${licenses.join("\n\n")}\n*/`;

await build({
  entryPoints: [join(here, "src", "main.js")],
  outfile: join(here, "bundle.js"),
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none", // they are in the banner, whole
  loader: { ".css": "text" },
  banner: { js: banner },
});
