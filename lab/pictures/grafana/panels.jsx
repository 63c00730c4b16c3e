// The types of panels our dashboards have, drawn by Grafana's own components where its libraries have them.
import { useEffect, useRef } from 'react';
import { dateTime } from '@grafana/data';
import { BigValue, TimeSeries, useTheme2 } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { heatmapEdge, statValues } from './panel_data.js';

function NoData({ panel }) {
  const theme = useTheme2();
  return (
    <div className="no-data" style={{ color: theme.colors.text.secondary }}>{panel.fieldConfig?.defaults.noValue ?? 'No data'}</div>
  );
}

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
      if (tall > 12 || at % 3 === 0) context.fillText(heatmapEdge(panel, row.name, theme), 2, top + 10); // the name is the upper edge
      row.values.forEach((value, index) => {
        context.globalAlpha = Math.sqrt(value / most);
        context.fillStyle = theme.visualization.getColorByName('orange');
        context.fillRect(left + ((times.values[index] - scene.from) / (scene.to - scene.from)) * (width - left), top, step + 0.5, tall - 1);
      });
    });
  });
  return <canvas ref={canvas} width={width} height={height} />;
}

const TYPES = { stat: Stat, timeseries: Graph, table: TableView, heatmap: Heatmap };

/** The inside of a panel. */
export function Content(props) {
  const { panel, data } = props;
  const Type = TYPES[panel.type];
  if (!Type) throw new Error(`no panel of type ${panel.type} can be drawn`);
  return data.frames.length || panel.type === 'stat' ? <Type {...props} /> : <NoData panel={panel} />;
}
