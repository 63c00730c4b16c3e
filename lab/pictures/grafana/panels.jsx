// The types of panels our dashboards have, drawn by Grafana's own components where its libraries have them.
import { useEffect, useRef } from 'react';
import {
  FieldType, applyFieldOverrides, cacheFieldDisplayNames, dateTime, fieldMatchers, formattedValueToString, getFieldDisplayName, getFieldDisplayValues, getFieldSeriesColor, reduceField,
  transformDataFrame,
} from '@grafana/data';
import { BigValue, TimeSeries, useTheme2 } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
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

function NoData({ panel }) {
  const theme = useTheme2();
  return (
    <div className="no-data" style={{ color: theme.colors.text.secondary }}>{panel.fieldConfig?.defaults.noValue ?? 'No data'}</div>
  );
}

const statValues = (panel, { frames, fieldConfig }, replaceVariables, theme) =>
  getFieldDisplayValues({
    data: frames, fieldConfig, replaceVariables, theme, timeZone: 'utc', reduceOptions: panel.options.reduceOptions,
    sparkline: panel.options.graphMode !== 'none',
  });

function Stat({ panel, data, replaceVariables, width, height }) {
  const theme = useTheme2();
  const values = statValues(panel, data, replaceVariables, theme);
  const each = width / values.length;
  return (
    <div style={{ display: 'flex' }}>
      {values.map(({ display, sparkline }, at) => (
        <BigValue
          key={at} theme={theme} width={each} height={height} value={display} sparkline={sparkline} count={values.length}
          colorMode={panel.options.colorMode} graphMode={panel.options.graphMode} justifyMode={panel.options.justifyMode}
          textMode={panel.options.textMode}
        />
      ))}
    </div>
  );
}

/** Lines of annotations, which are part of Grafana's application and not of its libraries: a stand-in. */
const annotationLines = (annotations, color) => (builder) => {
  builder.setPadding([8, 20, 0, 0]); // top, right, bottom, left: Grafana's own 8 at the right cut a label at the end of the range
  builder.addHook('draw', (plot) => {
    plot.ctx.save();
    plot.ctx.strokeStyle = color;
    plot.ctx.setLineDash([4, 4]);
    for (const { time } of annotations) {
      const x = plot.valToPos(time, 'x', true);
      if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue;
      plot.ctx.beginPath();
      plot.ctx.moveTo(x, plot.bbox.top);
      plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      plot.ctx.stroke();
    }
    plot.ctx.restore();
  });
  return null;
};

function Graph({ panel, data, scene, width, height }) {
  const theme = useTheme2();
  const timeRange = { from: dateTime(scene.from), to: dateTime(scene.to), raw: { from: dateTime(scene.from), to: dateTime(scene.to) } };
  return (
    <TimeSeries
      frames={data.frames} width={width} height={height} timeRange={timeRange} timeZone="utc" legend={panel.options.legend}
      options={panel.options}
    >
      {annotationLines(scene.annotations, theme.visualization.getColorByName('red'))}
    </TimeSeries>
  );
}

function TableView({ panel, data, width, height }) {
  return (
    <TableNG
      data={data.frames[0]} width={width} height={height} sortBy={panel.options.sortBy} cellHeight={panel.options.cellHeight}
      noValue={panel.fieldConfig.defaults.noValue} fieldConfig={panel.fieldConfig} enablePagination={panel.options.footer?.enablePagination}
      structureRev={1} enableVirtualization={false}
    />
  );
}

/** Grafana's heat map is part of its application: a stand-in with the same cells, edges and units. */
function Heatmap({ panel, data, scene, width, height }) {
  const theme = useTheme2();
  const canvas = useRef(null);
  useEffect(() => {
    const context = canvas.current.getContext('2d');
    const [frame] = data.frames;
    const [times, ...rows] = frame.fields;
    const left = 70;
    context.clearRect(0, 0, width, height); // the effect runs again at every rendering
    const most = Math.max(1e-9, ...rows.flatMap((row) => row.values));
    const step = (times.config.interval / (scene.to - scene.from)) * (width - left);
    const tall = (height - 20) / rows.length;
    context.fillStyle = theme.colors.text.primary;
    context.font = '12px Inter';
    rows.forEach((row, at) => {
      const top = height - 20 - (at + 1) * tall;
      context.globalAlpha = 1;
      context.fillStyle = theme.colors.text.primary;
      if (tall > 12 || at % 3 === 0) context.fillText(heatmapEdge(panel, row.name), 2, top + 10); // the name is the upper edge
      row.values.forEach((value, index) => {
        context.globalAlpha = Math.sqrt(value / most);
        context.fillStyle = theme.visualization.getColorByName('orange');
        context.fillRect(left + ((times.values[index] - scene.from) / (scene.to - scene.from)) * (width - left), top, step + 0.5, tall - 1);
      });
    });
  });
  return <canvas ref={canvas} width={width} height={height} />;
}

function heatmapEdge(panel, name) {
  const field = { name: 'edge', type: FieldType.number, config: { unit: panel.options.yAxis?.unit, decimals: panel.options.yAxis?.decimals }, values: [] };
  const [applied] = applyFieldOverrides({
    data: [{ fields: [field], length: 0 }], fieldConfig: { defaults: { unit: panel.options.yAxis?.unit }, overrides: [] },
    fieldConfigRegistry: optionsOf('heatmap'), replaceVariables: String, theme: window.currentTheme,
  });
  return name === '+Inf' ? '+Inf' : textOf(applied.fields[0].display(Number(name)));
}

const TYPES = { stat: Stat, timeseries: Graph, table: TableView, heatmap: Heatmap };

/** The inside of a panel. */
export function Content(props) {
  const { panel, data } = props;
  const Type = TYPES[panel.type];
  if (!Type) throw new Error(`no panel of type ${panel.type} can be drawn`);
  return data.frames.length || panel.type === 'stat' ? <Type {...props} /> : <NoData panel={panel} />;
}

const fieldDecimals = (text) => (/[.](\d+)/.exec(text)?.[1] ?? '').length;

/** A line as the legend shows it; a line without a unit has none in the report. */
function lineDrawn(field, frame, frames, calcs) {
  const reduced = reduceField({ field, reducers: [...calcs, 'lastNotNull', 'count'] });
  const shown = calcs.map((calc) => textOf(field.display(reduced[calc])));
  return {
    name: getFieldDisplayName(field, frame, frames),
    unit: field.config.unit ?? null,
    color: field.config.color?.fixedColor ?? field.config.color?.mode,
    seen: getFieldSeriesColor(field, window.currentTheme).color,
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
    const lines = numbers.map(([field, frame]) => lineDrawn(field, frame, frames, calcs));
    return { empty: !lines.some(({ points }) => points), lines };
  }
  const columns = frames.flatMap((frame) => frame.fields.map((field) => columnDrawn(field, frame, frames)));
  if (panel.type === 'heatmap') return { empty: !frames.length, rows: columns.slice(1).map(({ field }) => heatmapEdge(panel, field)) };
  return { empty: !frames.some(({ length }) => length), columns };
}
