// What the panels of our dashboards hold, as Grafana's data library says it. It needs no browser.
import {
  FieldType, applyFieldOverrides, cacheFieldDisplayNames, fieldMatchers, formattedValueToString, getFieldDisplayName, getFieldDisplayValues, getFieldSeriesColor, reduceField,
  transformDataFrame,
} from '@grafana/data';
import { firstValueFrom } from 'rxjs';
import { optionsOf } from './field_options.js';
import { framesOf } from './frames.js';

const EMPTY = { defaults: {}, overrides: [] };

/** The data of a panel as its type of panel gets them: transformed, then with defaults and overrides applied. */
export async function dataOf(panel, answers, replaceVariables, theme) {
  const frames = framesOf(panel, answers);
  const transformed = frames.length ? await firstValueFrom(transformDataFrame(panel.transformations ?? [], frames)) : [];
  const registry = optionsOf(panel.type);
  const fieldConfig = panel.fieldConfig ?? EMPTY;
  const applied = applyFieldOverrides({
    data: transformed, fieldConfig, fieldConfigRegistry: registry, replaceVariables, theme, timeZone: 'utc',
  });
  cacheFieldDisplayNames(applied);
  return { frames: applied, rawFrames: transformed, registry, fieldConfig };
}

/** Overrides that match no field, and properties that the type of panel does not have. */
export function uselessOverrides(panel, { rawFrames, registry, fieldConfig }) {
  return fieldConfig.overrides.flatMap(({ matcher, properties }) => {
    const matches = fieldMatchers.get(matcher.id).get(matcher.options);
    const isQuery = matcher.id === 'byFrameRefID' && panel.targets.some(({ refId }) => refId === matcher.options); // may have no answer
    const matched = isQuery || rawFrames.some((frame) => frame.fields.some((field) => matches(field, frame, rawFrames)));
    const unknown = properties.filter(({ id }) => !registry.getIfExists(id)).map(({ id }) => `unknown property ${id}`);
    return [...(matched ? [] : [`${matcher.id} ${JSON.stringify(matcher.options)} matches no field`]), ...unknown];
  });
}

const textOf = (display) => formattedValueToString(display).trim();

export const statValues = (panel, { frames, fieldConfig }, replaceVariables, theme) =>
  getFieldDisplayValues({
    data: frames, fieldConfig, replaceVariables, theme, timeZone: 'utc', reduceOptions: panel.options.reduceOptions,
    sparkline: panel.options.graphMode !== 'none',
  });

/** An edge of a heat map in the unit of its axis. */
export function heatmapEdge(panel, name, theme) {
  const field = { name: 'edge', type: FieldType.number, config: { unit: panel.options.yAxis?.unit, decimals: panel.options.yAxis?.decimals }, values: [] };
  const [applied] = applyFieldOverrides({
    data: [{ fields: [field], length: 0 }], fieldConfig: { defaults: { unit: panel.options.yAxis?.unit }, overrides: [] },
    fieldConfigRegistry: optionsOf('heatmap'), replaceVariables: String, theme: theme,
  });
  return name === '+Inf' ? '+Inf' : textOf(applied.fields[0].display(Number(name)));
}

const fieldDecimals = (text) => (/[.](\d+)/.exec(text)?.[1] ?? '').length;

/** A line as the legend shows it; a line without a unit has none in the report. */
function lineDrawn(field, frame, frames, calcs, theme) {
  const reduced = reduceField({ field, reducers: [...calcs, 'lastNotNull', 'count'] });
  const shown = calcs.map((calc) => textOf(field.display(reduced[calc])));
  return {
    name: getFieldDisplayName(field, frame, frames),
    unit: field.config.unit ?? null,
    color: field.config.color?.fixedColor ?? field.config.color?.mode,
    seen: getFieldSeriesColor(field, theme).color,
    legend: !field.config.custom?.hideFrom?.legend,
    dashed: field.config.custom?.lineStyle?.fill === 'dash',
    fill: field.config.custom?.fillOpacity ?? 0,
    points: field.values.filter((value) => value !== null && !Number.isNaN(value)).length,
    last: textOf(field.display(reduced.lastNotNull)),
    shown,
    decimals: Math.max(0, ...shown.map(fieldDecimals)),
  };
}

function columnDrawn(field, frame, frames) {
  const shown = field.values.map((value) => field.display(value));
  return {
    name: getFieldDisplayName(field, frame, frames),
    field: field.name,
    type: field.type,
    unit: field.config.unit ?? null,
    hidden: Boolean(field.config.custom?.hidden || field.config.custom?.hideFrom?.viz),
    texts: shown.map(textOf),
    missing: field.values.map((value) => value === null || value === undefined || value === '' || Number.isNaN(value)),
    colors: shown.map(({ color }) => color ?? null),
    coloured: field.config.custom?.cellOptions?.type !== 'auto' || Boolean(field.config.custom?.cellOptions?.mode),
    links: field.values.map((_, valueRowIndex) => (field.getLinks?.({ valueRowIndex }) ?? []).map(({ href }) => href)),
    decimals: Math.max(0, ...shown.map((display) => fieldDecimals(textOf(display)))),
  };
}

/** What a panel shows, as far as Grafana's data library says it. */
export function contentDrawn(panel, data, replaceVariables, theme) {
  const { frames } = data;
  if (panel.type === 'stat') {
    const values = statValues(panel, data, replaceVariables, theme);
    return {
      empty: !frames.length,
      stats: values.map(({ display, field }) => ({
        text: textOf(display), title: display.title ?? '', color: display.color, unit: field.unit ?? null, decimals: fieldDecimals(textOf(display)),
        missing: !frames.length || Number.isNaN(display.numeric),
      })),
    };
  }
  if (panel.type === 'timeseries') {
    const calcs = panel.options.legend.calcs;
    const numbers = frames.flatMap((frame) => frame.fields.filter(({ type }) => type === FieldType.number).map((field) => [field, frame]));
    const lines = numbers.map(([field, frame]) => lineDrawn(field, frame, frames, calcs, theme));
    return { empty: !lines.some(({ points }) => points), lines };
  }
  const columns = frames.flatMap((frame) => frame.fields.map((field) => columnDrawn(field, frame, frames)));
  if (panel.type === 'heatmap') return { empty: !frames.length, rows: columns.slice(1).map(({ field }) => heatmapEdge(panel, field, theme)) };
  return { empty: !frames.some(({ length }) => length), columns };
}
