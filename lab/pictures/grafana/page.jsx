// A page with one dashboard on it: header, rows and the grid of 24 columns are stand-ins, what is in the panels is Grafana's.
import '@fontsource/inter/latin-400.css';
import '@fontsource/inter/latin-500.css';
import '@fontsource/roboto-mono/latin-400.css';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createTheme, setTimeZoneResolver } from '@grafana/data';
import { GlobalStyles, PanelChrome, ThemeContext } from '@grafana/ui';
import { contentDrawn, dataOf, uselessOverrides } from './panel_data.js';
import { Content } from './panels.jsx';
import { replacer } from './variables.js';

const MARGIN = 16;
const GAP = 8;
const UNIT = 30;
const HEADER = 96;

const ONE_COLUMN = 769;

const placeOf = ({ x, y, w, h }, width) => {
  const column = (width - 2 * MARGIN - 23 * GAP) / 24;
  return { left: MARGIN + x * (column + GAP), top: HEADER + y * (UNIT + GAP), width: w * column + (w - 1) * GAP, height: h * UNIT + (h - 1) * GAP };
};

/** On a page narrower than Grafana's breakpoint every panel has the whole width, one below the other. */
function stacked(placed) {
  let bottom = 0;
  const inOrder = [...placed].sort((one, other) => one.y - other.y || one.panel.gridPos.x - other.panel.gridPos.x);
  return inOrder.map(({ panel, ...place }) => {
    const y = bottom;
    bottom += panel.gridPos.h;
    return { ...place, y, panel: { ...panel, gridPos: { ...panel.gridPos, x: 0, w: 24 } } };
  });
}

/** Rows and panels with the places they have on a page of a width, when the rows are closed as in the file, or all open. */
export function laidOut(dashboard, { open, width }) {
  const placed = inColumns(dashboard, open);
  return width < ONE_COLUMN ? stacked(placed) : placed;
}

function inColumns(dashboard, open) {
  const placed = [];
  let shift = 0;
  for (const panel of dashboard.panels) {
    placed.push({ panel, y: panel.gridPos.y + shift });
    if (panel.type !== 'row' || !panel.collapsed || !open) continue;
    const inner = panel.panels ?? [];
    const top = Math.min(...inner.map(({ gridPos }) => gridPos.y));
    const bottom = Math.max(...inner.map(({ gridPos }) => gridPos.y + gridPos.h));
    for (const one of inner) placed.push({ panel: one, y: panel.gridPos.y + shift + 1 + one.gridPos.y - top, row: panel.title });
    shift += bottom - top;
  }
  return placed;
}

function Header({ scene, theme, width }) {
  const { dashboard, variables } = scene;
  const box = { border: `1px solid ${theme.colors.border.medium}`, borderRadius: 2, padding: '5px 8px', marginRight: 8 };
  const shown = dashboard.templating.list.filter(({ hide }) => hide !== 2);
  return (
    <div style={{ position: 'absolute', left: MARGIN, top: 8, width: width - 2 * MARGIN, color: theme.colors.text.primary }}>
      <div style={{ fontSize: 18, marginBottom: 10 }}>
        {dashboard.title}
        <span style={{ float: 'right', fontSize: 14 }}>
          played from {new Date(scene.from).toISOString().slice(11, 16)} to {new Date(scene.to).toISOString().slice(11, 16)} UTC, drawn without a Grafana server
        </span>
      </div>
      {shown.map(({ name, label }) => (
        <span key={name} style={{ fontSize: 12, marginRight: 8 }}>{label} <span style={box}>{String(variables[name]?.text ?? '')}</span></span>
      ))}
    </div>
  );
}

const Row = ({ panel, open, theme }) => (
  <div style={{ color: theme.colors.text.primary, fontSize: 16, fontWeight: 500, padding: '6px 0' }}>
    {open || !panel.collapsed ? '▾' : '▸'} {panel.title}
    {panel.collapsed && !open && <span style={{ color: theme.colors.text.secondary, fontWeight: 400 }}> ({panel.panels.length} panels)</span>}
  </div>
);

function Page({ scene, placed, data, replaceVariables, theme, width, open }) {
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <Header scene={scene} theme={theme} width={width} />
      {placed.map(({ panel, y }, at) => {
        const { left, top, width: wide, height } = placeOf({ ...panel.gridPos, y }, width);
        return (
          <div key={at} data-panel={at} style={{ position: 'absolute', left, top, width: wide, height }}>
            {panel.type === 'row' ? <Row panel={panel} open={open} theme={theme} /> : (
              <PanelChrome title={replaceVariables(panel.title)} description={panel.description} width={wide} height={height} padding={panel.type === 'table' ? 'none' : 'md'}>
                {(innerWidth, innerHeight) => (
                  <Content panel={panel} data={data[at]} scene={scene} replaceVariables={replaceVariables} width={innerWidth} height={innerHeight} />
                )}
              </PanelChrome>
            )}
          </div>
        );
      })}
    </ThemeContext.Provider>
  );
}

const isCut = (element) => element.scrollWidth > element.clientWidth + 1;
const textsCut = (holder, selector) => [...holder.querySelectorAll(selector)].filter((element) => isCut(element) || [...element.querySelectorAll('*')].some(isCut)).map((element) => element.textContent);

/** Whether a cell of a table is within its panel: the cells that Grafana has made may all lie outside. */
function cellSeen(grid, holder) {
  const panel = holder.getBoundingClientRect();
  return [...grid.querySelectorAll('[role="gridcell"]')].some((cell) => {
    const { top, bottom, width } = cell.getBoundingClientRect();
    return width > 0 && top >= panel.top && bottom <= panel.bottom && cell.textContent.trim() !== '';
  });
}

/** Entries of a legend, and those that are seen without scrolling. */
function legendDrawn(holder) {
  const { bottom } = holder.getBoundingClientRect();
  const entries = [...holder.querySelectorAll('table tbody tr, li')];
  const seen = entries.filter((entry) => {
    let limit = bottom;
    for (let outer = entry.parentElement; outer && outer !== holder; outer = outer.parentElement) {
      if (getComputedStyle(outer).overflowY !== 'visible') limit = Math.min(limit, outer.getBoundingClientRect().bottom);
    }
    return entry.getBoundingClientRect().bottom <= limit + 2;
  });
  return { rows: entries.length, seen: seen.length };
}

/** What only the laid out page says: texts that are cut, columns that are out of sight, rows of a legend. */
function layoutDrawn(holder) {
  const grid = holder.querySelector('[role="grid"]');
  return {
    legend: legendDrawn(holder),
    blank: grid !== null && !cellSeen(grid, holder),
    titleCut: textsCut(holder, 'h2').length > 0,
    headingsCut: grid ? textsCut(grid, '[role="columnheader"]') : [],
    cellsCut: grid ? textsCut(grid, '[role="gridcell"]') : [],
    columnsOutOfSight: grid ? grid.scrollWidth > grid.clientWidth + 1 : false,
  };
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const isDrawn = (panel, data, holder) => {
  if (!data.frames.length) return true;
  if (panel.type === 'table') {
    const grid = holder.querySelector('[role="grid"]');
    return !data.frames[0].length || (grid !== null && cellSeen(grid, holder));
  }
  return panel.type === 'stat' || holder.querySelector('canvas') !== null;
};

/** Waits until every panel shows its content, and two pauses for what is drawn after the layout. */
async function settled(placed, data) {
  const panels = placed.flatMap(({ panel }, at) => (panel.type === 'row' ? [] : [[panel, data[at], at]]));
  const missing = () => panels.filter(([panel, of, at]) => {
    const holder = document.querySelector(`[data-panel="${at}"]`);
    return !holder || !isDrawn(panel, of, holder);
  });
  for (let tries = 0; missing().length && tries < 200; tries += 1) await pause(100);
  if (missing().length) throw new Error(`not drawn: ${missing().map(([{ title }]) => title).join(', ')}`);
  await pause(200);
  await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 3000 }));
}

const FONTS = ['400 12px Inter', '500 12px Inter', '400 12px "Roboto Mono"'];

/** Grafana measures a text once and keeps its width, so the fonts of its styles have to be there before the first panel. */
async function loadFonts(root, theme) {
  flushSync(() => root.render(<ThemeContext.Provider value={theme}><GlobalStyles /></ThemeContext.Provider>));
  const loaded = await Promise.all(FONTS.map((font) => document.fonts.load(font)));
  const missing = FONTS.filter((_, at) => !loaded[at].length);
  if (missing.length) throw new Error(`fonts not loaded: ${missing.join(', ')}`);
}

let asked;

/** Takes a dashboard to draw and says how high its page is. The window gets that height before anything is drawn. */
window.place = (scene, { width, dark, open }) => {
  const theme = createTheme({ colors: { mode: dark ? 'dark' : 'light' } });
  const placed = laidOut(scene.dashboard, { open, width });
  const bottom = Math.max(...placed.map(({ panel, y }) => placeOf({ ...panel.gridPos, y }, width)).map(({ top, height }) => top + height));
  asked = { scene, width, open, theme, placed, height: Math.ceil(bottom + MARGIN) };
  return asked.height;
};

/** Draws the dashboard and says what was drawn. */
window.draw = async () => {
  const { scene, width, open, theme, placed, height } = asked;
  setTimeZoneResolver(() => 'utc');
  const replaceVariables = replacer(scene.variables, scene.from, scene.to);
  const data = await Promise.all(
    placed.map(({ panel }) => (panel.type === 'row' ? null : dataOf(panel, scene.answers[panel.title] ?? {}, replaceVariables, theme))),
  );
  document.body.style.cssText = `margin: 0; background: ${theme.colors.background.canvas}; width: ${width}px; position: relative`;
  const root = createRoot(document.getElementById('root'));
  await loadFonts(root, theme);
  root.render(<Page scene={scene} placed={placed} data={data} replaceVariables={replaceVariables} theme={theme} width={width} open={open} />);
  asked.data = data;
  await window.settle();
  const panels = placed.flatMap(({ panel, row }, at) => {
    if (panel.type === 'row') return [];
    const holder = document.querySelector(`[data-panel="${at}"]`);
    return [{
      title: panel.title, type: panel.type, row: row ?? null, uselessOverrides: uselessOverrides(panel, data[at]), ...layoutDrawn(holder),
      ...contentDrawn(panel, data[at], replaceVariables, theme),
    }];
  });
  return { height, green: theme.visualization.getColorByName('green'), panels, annotations: scene.annotations };
};

window.settle = () => settled(asked.placed, asked.data);

/** Tables with rows of which a picture of the page shows none: from the first cell down every point has the same colour. */
window.blankTables = async (address) => {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  context.drawImage(picture, 0, 0);
  const scale = picture.width / asked.width;
  return asked.placed.filter(({ panel }, at) => {
    if (panel.type !== 'table' || !asked.data[at].frames[0]?.length) return false;
    const holder = document.querySelector(`[data-panel="${at}"]`);
    const { left, right, bottom } = holder.getBoundingClientRect();
    const top = holder.querySelector('[role="gridcell"]').getBoundingClientRect().top + 2; // below the line of the headings
    const inside = [left + 4, top, right - left - 8, bottom - top - 4].map((edge) => Math.round(edge * scale));
    const points = new Uint32Array(context.getImageData(...inside).data.buffer);
    return points.every((point) => point === points[0]);
  }).map(({ panel }) => panel.title);
};
window.ready = true;
