// Draws dashboards in a headless Chromium: node draw.mjs SCENES.json FOLDER OPTIONS, as lab/pictures/drawing.py writes them
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

const WEIGHTS = { Regular: 400, Medium: 500 };

/** Where a path of the page is on disk: Grafana's styles ask for icons and fonts at the paths of a Grafana server. */
function fileOf(path, folder) {
  const icon = /\/(img\/.*)$/.exec(path);
  if (icon) return join(HERE, 'node_modules/@grafana/ui/dist/public', icon[1]);
  const font = /\/fonts\/inter\/Inter-(\w+)\.woff2$/.exec(path);
  if (font) return join(HERE, `node_modules/@fontsource/inter/files/inter-latin-${WEIGHTS[font[1]] ?? 400}-normal.woff2`);
  if (/\/fonts\/roboto\//.test(path)) return join(HERE, 'node_modules/@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2');
  return join(folder, path === '/' ? 'index.html' : path);
}

/** A web server on loopback: the bundle, and the icons of Grafana's component library. */
async function serve(folder) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    if (path === '/favicon.ico') return void response.writeHead(204).end();
    try {
      const body = await readFile(fileOf(path, folder));
      response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'text/html' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const TRIES = 5;

/** A picture of the page in which every table with rows shows some. */
export async function picture(page, name, height, { width, kind, scale }) {
  const quality = kind === 'webp' ? { quality: 85 } : {};
  const clip = { x: 0, y: 0, width, height, scale };
  let blank;
  for (let tries = 0; tries < TRIES; tries += 1) {
    await page.waitForNetworkIdle({ idleTime: 200 });
    await page.evaluate(() => window.settle());
    const taken = await page.screenshot({ type: kind, ...quality, clip, captureBeyondViewport: false, encoding: 'base64' });
    blank = await page.evaluate((address) => window.blankTables(address), `data:image/${kind};base64,${taken}`);
    if (!blank.length) return Buffer.from(taken, 'base64');
  }
  throw new Error(`${name}: the picture shows no row of ${blank.join(', ')}`);
}

/** A page with a dashboard before it is drawn: its height and name, and what it complains of from now on. */
export async function placed(browser, url, scene, choice) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(`${message.text()} ${message.location().url ?? ''}`));
  const name = `${scene.dashboard.uid}-${choice.width}-${choice.theme}${choice.open ? '-open' : ''}`;
  await page.setViewport({ width: choice.width, height: 1000 });
  await page.goto(url, { waitUntil: 'load' });
  const how = { width: choice.width, dark: choice.theme === 'dark', open: choice.open };
  const height = await page.evaluate((what, how) => window.place(what, how), scene, how);
  await page.setViewport({ width: choice.width, height }); // before the drawing: tables draw themselves again in a new height
  return { page, name, height, complaints };
}

async function drawn(browser, url, scene, choice, out) {
  const { page, name, height, complaints } = await placed(browser, url, scene, choice);
  const report = await page.evaluate(() => window.draw());
  if (choice.pictures) await writeFile(join(out, `${name}.${choice.kind}`), await picture(page, name, height, choice));
  await writeFile(join(out, `${name}.json`), `${JSON.stringify({ ...report, ...choice, uid: scene.dashboard.uid, complaints }, null, 1)}\n`);
  await page.close();
}

/** Calls `use` with a browser and the address of the page. */
export async function browsing(chromium, use) {
  const folder = await mkdtemp(join(tmpdir(), 'dashboard-pictures-'));
  await bundle(folder);
  const server = await serve(folder);
  const browser = await puppeteer.launch({ executablePath: chromium, args: FLAGS, userDataDir: join(folder, 'profile') });
  try {
    await use(browser, `http://127.0.0.1:${server.address().port}/`);
  } finally {
    await browser.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function main([scenesFile, out, options]) {
  const { widths, themes, open, chromium, ...picture } = JSON.parse(options);
  const scenes = JSON.parse(await readFile(scenesFile, 'utf8'));
  await mkdir(out, { recursive: true });
  await browsing(chromium, async (browser, url) => {
    for (const scene of scenes) for (const width of widths) for (const theme of themes) for (const one of open) {
      await drawn(browser, url, scene, { width, theme, open: one, ...picture }, out);
    }
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
