// Takes a picture of the first scene with a style of its own: node hidden_rows.mjs SCENES.json CHROMIUM STYLE
import { readFile } from 'node:fs/promises';
import { browsing, picture, placed } from '../../lab/pictures/grafana/draw.mjs';

const [scenesFile, chromium, style] = process.argv.slice(2);
const [scene] = JSON.parse(await readFile(scenesFile, 'utf8'));
const choice = { width: 1280, theme: 'light', open: false, kind: 'png', scale: 1 };
await browsing(chromium, async (browser, url) => {
  const { page, name, height } = await placed(browser, url, scene, choice);
  await page.evaluate(() => window.draw());
  await page.addStyleTag({ content: style });
  await picture(page, name, height, choice);
});
