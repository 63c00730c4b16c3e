// What the panels of a scene hold: the report of a drawing without what only the layout says.
import { createTheme, setTimeZoneResolver } from '@grafana/data';
import { contentDrawn, dataOf } from './panel_data.js';
import { replacer } from './variables.js';

const panelsOf = ({ panels }) => panels.flatMap((panel) => (panel.type === 'row' ? (panel.panels ?? []) : [panel]));

export async function contentsOf({ dashboard, answers, variables, from, to }) {
  setTimeZoneResolver(() => 'utc');
  const theme = createTheme({ colors: { mode: 'light' } });
  const replaceVariables = replacer(variables, from, to);
  const panels = panelsOf(dashboard).map(async (panel) => {
    const data = await dataOf(panel, answers[panel.title] ?? {}, replaceVariables, theme);
    return { title: panel.title, type: panel.type, ...contentDrawn(panel, data, replaceVariables, theme) };
  });
  return { uid: dashboard.uid, panels: await Promise.all(panels) };
}
