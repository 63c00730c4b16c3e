// Prints what the panels of scenes hold, by the data library of one version of Grafana and without a browser: node contents.mjs SCENES.json PACKAGE
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

// What the libraries ask a browser for while they load, and for formats of times.
globalThis.window = globalThis;
Object.defineProperty(globalThis, 'navigator', { value: { language: 'en-US', languages: ['en-US'] } });

const [scenesFile, library] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'dashboard-contents-'));
try {
  const bundle = join(folder, 'contents.mjs');
  await build({
    absWorkingDir: fileURLToPath(new URL('.', import.meta.url)), entryPoints: ['contents.js'], outfile: bundle, bundle: true, format: 'esm', platform: 'node',
    mainFields: ['module', 'main'], alias: { '@grafana/data': library }, logLevel: 'error', define: { 'process.env.NODE_ENV': '"production"' },
  });
  const { contentsOf } = await import(pathToFileURL(bundle));
  const scenes = JSON.parse(await readFile(scenesFile, 'utf8'));
  process.stdout.write(JSON.stringify(await Promise.all(scenes.map(contentsOf))));
} finally {
  await rm(folder, { recursive: true, force: true });
}
