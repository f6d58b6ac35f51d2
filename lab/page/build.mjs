// Makes build/page/template.html: the page with its style and its scripts inside, and a place for the data, which
// `leantea-lab report` fills in. Needs `npm ci` in this folder first; `./dev report` does both.
//
//   node build.mjs [FILE]      FILE is where the template goes

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, '../../build/page/template.html');

async function bundled(file) {
  const result = await build({
    entryPoints: [join(here, 'src', file)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['es2022', 'chrome100', 'firefox100', 'safari15.4'],
    legalComments: 'inline',
    logLevel: 'warning',
  });
  // A script or style element ends at the first "</" of its own name, wherever that stands.
  return result.outputFiles[0].text.trim().replaceAll('</script', '<\\/script').replaceAll('</style', '<\\/style');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const script = await bundled('main.js');
const style = await bundled('style.css');
// The page may run its own script and style and nothing else; above all it may load nothing.
const policy =
  `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
  `img-src data:; base-uri 'none'; form-action 'none'`;

// Functions as replacements: a text may hold "$&".
const page = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('%POLICY%', () => policy)
  .replace('%STYLE%', () => style)
  .replace('%SCRIPT%', () => script);

mkdirSync(dirname(output), { recursive: true });
writeFileSync(`${output}.new`, page);
renameSync(`${output}.new`, output);
console.error(`page: ${output}, ${Math.round(page.length / 1024)} KiB`);
