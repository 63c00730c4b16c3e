// Draws dashboards in a headless Chromium: node draw.mjs SCENES.json FOLDER '{"widths": [1600], "themes": ["dark"], "open": [true]}'
import { createServer } from 'node:http';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import puppeteer from 'puppeteer-core';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--hide-scrollbars', '--force-color-profile=srgb',
];
const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.svg': 'image/svg+xml' };

async function bundle(folder) {
  const asFile = Object.fromEntries(['.woff', '.woff2', '.ttf'].map((ending) => [ending, 'file']));
  await build({
    entryPoints: [join(HERE, 'page.jsx')], outdir: folder, bundle: true, format: 'iife', platform: 'browser', jsx: 'automatic', minify: true,
    mainFields: ['module', 'browser', 'main'], logLevel: 'error',
    loader: { ...asFile, '.svg': 'dataurl', '.png': 'dataurl' },
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
  });
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><div id="root"></div>'
    + '<script>window.__grafana_public_path__ = "/public/";</script><script src="page.js"></script>',
  );
}

/** A web server on loopback: the bundle, and the icons of Grafana's component library. */
async function serve(folder) {
  const icons = join(HERE, 'node_modules/@grafana/ui/dist/public');
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const icon = /\/(img\/.*)$/.exec(path);
    try {
      const body = await readFile(icon ? join(icons, icon[1]) : join(folder, path === '/' ? 'index.html' : path));
      response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'text/html' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function drawn(browser, url, scene, choice, out) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const name = `${scene.dashboard.uid}-${choice.width}-${choice.theme}${choice.open ? '-open' : ''}`;
  await page.setViewport({ width: choice.width, height: 1000 });
  await page.goto(url, { waitUntil: 'load' });
  const report = await page.evaluate((what, how) => window.draw(what, how), scene, { width: choice.width, dark: choice.theme === 'dark', open: choice.open });
  if (choice.pictures) {
    await page.setViewport({ width: choice.width, height: report.height });
    await page.screenshot({ path: join(out, `${name}.png`), clip: { x: 0, y: 0, width: choice.width, height: report.height } });
  }
  await writeFile(join(out, `${name}.json`), `${JSON.stringify({ ...report, ...choice, uid: scene.dashboard.uid, complaints }, null, 1)}\n`);
  await page.close();
}

async function main([scenesFile, out, options]) {
  const { widths, themes, open, pictures, chromium } = JSON.parse(options);
  const scenes = JSON.parse(await readFile(scenesFile, 'utf8'));
  const folder = await mkdtemp(join(tmpdir(), 'dashboard-pictures-'));
  await mkdir(out, { recursive: true });
  await bundle(folder);
  const server = await serve(folder);
  const browser = await puppeteer.launch({ executablePath: chromium, args: FLAGS, userDataDir: join(folder, 'profile') });
  try {
    for (const scene of scenes) for (const width of widths) for (const theme of themes) for (const one of open) {
      await drawn(browser, `http://127.0.0.1:${server.address().port}/`, scene, { width, theme, open: one, pictures }, out);
    }
  } finally {
    await browser.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2));
